"""Builds the operator library against the torch of the environment: pip install --no-build-isolation ."""

import shutil
import sys
from pathlib import Path

from setuptools import setup

try:
    import torch
    from torch.utils import cpp_extension
except ImportError:
    sys.exit("darope is built against the torch of this environment, and there is none: pip install 'torch>=2.11,<2.14', then pip install --no-build-isolation .")

version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
if not (2, 11) <= version < (2, 14):
    sys.exit(f"darope builds against torch 2.11 to 2.13; this environment has {torch.__version__}")

root = Path(__file__).parent
relative = lambda paths: sorted(str(path.relative_to(root)) for path in paths)
cuda = torch.version.cuda is not None and cpp_extension.CUDA_HOME is not None and shutil.which("nvcc", path=str(Path(cpp_extension.CUDA_HOME) / "bin")) is not None
print(f"darope: torch {torch.__version__}, CUDA kernels {'built with ' + cpp_extension.CUDA_HOME if cuda else 'left out (no nvcc); tensors on a GPU take the plain versions'}")

sources = relative([*root.glob("src/ops/*.cpp"), *root.glob("src/encodings/*.cpp"), *root.glob("src/kernels/*.cpp")])
if cuda:
    sources += relative(root.glob("src/kernels/*.cu"))
else:
    sources.remove("src/ops/cuda.cpp")
flags = ["-std=c++20", "-O3", "-fopenmp", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast"]
extension = cpp_extension.CUDAExtension if cuda else cpp_extension.CppExtension
setup(
    ext_modules=[
        extension(
            "darope._ops",
            sources,
            include_dirs=[str(root / "src")],
            extra_compile_args={"cxx": flags, "nvcc": ["-std=c++20", "-O3", "-gencode=arch=compute_80,code=sm_80", "-gencode=arch=compute_90,code=[sm_90,compute_90]"]}
            if cuda
            else flags,
        )
    ],
    cmdclass={"build_ext": cpp_extension.BuildExtension.with_options(no_python_abi_suffix=True)},
)
