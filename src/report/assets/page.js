'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const hidden = new Set();
  const charts = [];
  const dashes = [[], [6, 3], [2, 2], [8, 2, 2, 2]];
  const markers = ['circle', 'triangle', 'rect', 'rectRot', 'crossRot', 'cross', 'star', 'circle'];

  // ---- tables: a click on a heading sorts by it, a second click turns the order round
  const key = cell => {
    const text = cell.dataset.v ?? cell.textContent.trim();
    const number = Number(text);
    return text === '' ? null : Number.isNaN(number) ? text : number;
  };
  const before = (a, b) => {
    if (a === null || b === null) return (a === null) - (b === null);   // what is missing goes last
    return typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b));
  };
  function sort(heading, direction) {
    const index = [...heading.parentNode.children].indexOf(heading);
    const body = heading.closest('table').tBodies[0];
    const turn = direction === 'ascending' ? 1 : -1;
    const rows = [...body.rows].map(row => ({ row, value: key(row.cells[index]) }));
    rows.sort((a, b) => (a.value === null || b.value === null ? 1 : turn) * before(a.value, b.value));
    rows.forEach(({ row }) => body.append(row));
    all('th', heading.parentNode).forEach(other => other.removeAttribute('aria-sort'));
    heading.setAttribute('aria-sort', direction);
  }
  all('table.sortable').forEach(table => {
    all('thead th', table).forEach(heading => heading.firstElementChild.addEventListener('click', () =>
      sort(heading, heading.getAttribute('aria-sort') === 'ascending' ? 'descending' : 'ascending')));
    if (table.dataset.sort) sort(table.tHead.rows[0].cells[Number(table.dataset.sort)], 'ascending');
  });

  // ---- charts
  const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const series = index => {
    const { colour: hue, marker } = data.styles[index];
    return {
      label: data.encodings[index],
      encoding: index,
      borderColor: colour(`--s${hue}`),
      backgroundColor: marker === 7 ? colour('--paper') : colour(`--s${hue}`),   // the hollow circle
      borderWidth: index === data.reference ? 3 : 1.7,
      borderDash: dashes[hue % dashes.length],
      pointStyle: markers[marker],
      hidden: hidden.has(index),
    };
  };
  const options = (xTitle, yTitle) => ({
    animation: false,
    maintainAspectRatio: false,
    interaction: { mode: 'nearest', intersect: false },
    plugins: { legend: { display: false }, tooltip: { usePointStyle: true } },
    scales: {
      x: { title: { display: true, text: xTitle }, grid: { color: colour('--line') } },
      y: { title: { display: true, text: yTitle }, grid: { color: colour('--line') } },
    },
  });
  const make = {
    lengths(canvas, chart) {
      const sets = chart.series.map((own, index) => ({
        ...series(index), clip: false, data: own.mean, pointRadius: 4.5, pointHoverRadius: 6 }));
      if (chart.chance !== null)
        sets.push({ label: 'chance', data: chart.x.map(() => chart.chance), borderColor: colour('--soft'),
          borderWidth: 1, pointRadius: 0, pointHitRadius: 0 });
      const settings = options(chart.axis, chart.accuracy ? 'accuracy, %' : 'loss, nats');
      if (chart.accuracy) Object.assign(settings.scales.y, { min: 0, max: 100 });
      settings.plugins.tooltip.callbacks = {
        label: item => {
          const own = chart.series[item.dataset.encoding];
          const width = own?.width[item.dataIndex], spread = own?.spread[item.dataIndex];
          return `${item.dataset.label}: ${item.formattedValue}`
            + (width == null ? '' : ` ± ${width.toFixed(1)}`)
            + (spread == null ? '' : `, seeds' SD ${spread.toFixed(1)}`);
        },
      };
      const data = { labels: chart.x, datasets: sets };
      return new Chart(canvas, { type: 'line', data, options: settings });
    },
    curves(canvas, chart) {
      const sets = chart.series.map((own, index) => ({
        ...series(index), pointRadius: 0, pointHoverRadius: 5,
        data: own.loss.map((y, i) => ({ x: (own.steps ?? chart.steps)[i], y })),
      }));
      const settings = options('step', 'training loss');
      settings.scales.x.type = 'linear';
      settings.scales.y.beginAtZero = true;
      return new Chart(canvas, { type: 'line', data: { datasets: sets }, options: settings });
    },
  };
  function draw() {
    charts.splice(0).forEach(chart => chart.destroy());
    Chart.defaults.color = colour('--soft');
    Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
    all('canvas[data-chart]').forEach(canvas => {
      const kind = canvas.dataset.chart;
      charts.push(make[kind](canvas, data[kind][Number(canvas.dataset.index)]));
    });
  }

  // ---- what is shown
  function showEncodings() {
    all('[data-e]').forEach(
      element => element.classList.toggle('off', hidden.has(Number(element.dataset.e))));
    charts.forEach(chart => {
      chart.data.datasets.forEach((set, i) => chart.setDatasetVisibility(i, !hidden.has(set.encoding)));
      chart.update();
    });
  }
  function showLength(length) {
    all('[data-x]').forEach(element => element.classList.toggle('off', element.dataset.x !== length));
    all('[data-length]').forEach(
      button => button.setAttribute('aria-pressed', button.dataset.length === length));
  }
  all('[data-toggle]').forEach(button => button.addEventListener('click', () => {
    const encoding = Number(button.dataset.toggle);
    if (!hidden.delete(encoding)) hidden.add(encoding);
    button.setAttribute('aria-pressed', !hidden.has(encoding));
    showEncodings();
  }));
  all('[data-length]').forEach(
    button => button.addEventListener('click', () => showLength(button.dataset.length)));
  if (document.querySelector('[data-length]')) showLength('0');

  const reference = document.getElementById('reference');
  reference?.addEventListener('change', () => all('[data-signs]').forEach(
    element => { element.textContent = element.dataset.signs.split(',')[reference.selectedIndex] ?? ''; }));

  // ---- saving: pictures as SVG, tables as CSV, Markdown and LaTeX, of what is shown
  function save(name, text) {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([text], { type: 'text/plain' }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
  const xml = text => text.replace(/[&<>"']/g, c => `&#${c.charCodeAt(0)};`);
  const theme = () => [...document.styleSheets[0].cssRules]
    .filter(rule => /^\.(scale|marker)/.test(rule.selectorText ?? '')).map(rule => rule.cssText).join('')
    + `svg{${['paper', 'ink', 'soft', 'line', ...[...Array(8).keys()].map(i => `s${i}`)]
      .map(name => `--${name}:${colour(`--${name}`)}`).join(';')}}`;
  function pictureFile(svg) {
    const copy = svg.cloneNode(true);
    all('.off', copy).forEach(element => element.remove());
    copy.insertAdjacentHTML('afterbegin', `<style>${theme()}</style>`);
    return new XMLSerializer().serializeToString(copy);
  }
  // What Chart.js has drawn, once more as lines and text.
  function chartFile(chart) {
    const { x, y } = chart.scales, { left, right, top, bottom } = chart.chartArea, room = 22;
    const text = (at, up, words, anchor, turn = '') =>
      `<text x="${at.toFixed(1)}" y="${up.toFixed(1)}" text-anchor="${anchor}"${turn}>`
      + `${xml(String(words))}</text>`;
    const parts = [];
    x.ticks.forEach((tick, i) => parts.push(text(x.getPixelForTick(i), bottom + 16, tick.label, 'middle')));
    y.ticks.forEach((tick, i) => {
      const up = y.getPixelForTick(i);
      parts.push(`<path class="g" d="M${left} ${up.toFixed(1)}H${right}"/>`,
        text(left - 6, up + 4, tick.label, 'end'));
    });
    const middle = (top + bottom) / 2;
    parts.push(text((left + right) / 2, bottom + 34, x.options.title.text, 'middle'),
      text(12, middle, y.options.title.text, 'middle', ` transform="rotate(-90 12 ${middle})"`));
    let along = left;
    chart.data.datasets.forEach((set, i) => {
      if (!chart.isDatasetVisible(i)) return;
      const points = chart.getDatasetMeta(i).data.filter(point => !point.skip && Number.isFinite(point.y));
      const path = points.map(
        (point, k) => `${k ? 'L' : 'M'}${point.x.toFixed(1)} ${point.y.toFixed(1)}`).join('');
      parts.push(`<path stroke="${set.borderColor}" stroke-dasharray="${(set.borderDash ?? []).join(' ')}"`
        + ` stroke-width="${set.borderWidth}" d="${path}"/>`);
      if (set.pointRadius) points.forEach(point => parts.push(
        `<circle cx="${point.x.toFixed(1)}" cy="${point.y.toFixed(1)}" r="3" fill="${set.borderColor}"/>`));
      parts.push(`<path stroke="${set.borderColor}" stroke-width="3" d="M${along} -10h14"/>`,
        text(along + 18, -6, set.label, 'start'));
      along += 30 + 7 * set.label.length;
    });
    const width = Math.max(chart.width, along);
    return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 ${-room} ${width} ${chart.height + room + 8}">`
      + `<style>text{font:12px sans-serif;fill:${colour('--ink')}}path{fill:none}`
      + `.g{stroke:${colour('--line')}}</style>`
      + `<rect y="${-room}" width="100%" height="100%" fill="${colour('--paper')}"/>${parts.join('')}</svg>`;
  }
  const words = cell => [...cell.childNodes].map(node => node.textContent.trim()).filter(Boolean).join(' ');
  const rowsOf = table => [...table.rows].map(row => [...row.cells]
    .filter(cell => !cell.classList.contains('off')).map(words))
    .filter((_, i) => !table.rows[i].classList.contains('off'));
  // A spreadsheet takes what begins so for a formula, and runs it; numbers stay numbers.
  const csvCell = cell => {
    const formula = /^[=+\-@\t\r]/.test(cell) && !Number.isFinite(Number(cell));
    return formula || /[",\r\n]/.test(cell) ? `"${formula ? "'" : ''}${cell.replaceAll('"', '""')}"` : cell;
  };
  // What has a meaning to Markdown or LaTeX loses it, as in the tables that the program writes.
  const mdCell = cell => cell.replace(/[\\`*[\]~$|]|:(?=\/\/)|_(?![a-z0-9])|(?<![a-z0-9])_/gi, '\\$&')
    .replace(/[&<>]/g, xml);
  const inTex = { '\\': '\\textbackslash{}', '^': '\\textasciicircum{}', '~': '\\textasciitilde{}',
    '[': '{[}', '*': '{*}', '±': '$\\pm$' };
  const texCell = cell => cell.replace(/[\\^~[*±&%$#_{}]/g, c => inTex[c] ?? `\\${c}`);
  const forms = {
    csv: rows => rows.map(row => row.map(csvCell).join(',') + '\r\n').join(''),
    md: rows => rows.map((row, i) => `| ${row.map(mdCell).join(' | ')} |\n`
      + (i ? '' : `|${'---|'.repeat(row.length)}\n`)).join(''),
    tex: rows => `\\begin{tabular}{${'l'.repeat(rows[0].length)}}\n\\hline\n`
      + rows.map((row, i) => row.map(texCell).join(' & ') + ' \\\\\n'
        + (i ? '' : '\\hline\n')).join('') + '\\hline\n\\end{tabular}\n',
  };
  function offer(after, kinds) {
    const bar = document.createElement('div');
    const number = all('.save').length + 1;
    const section = after.closest('section').id;
    bar.className = 'save';
    bar.append('save as ');
    for (const [kind, make] of Object.entries(kinds)) {
      const button = document.createElement('button');
      button.type = 'button';
      button.textContent = { svg: 'SVG', csv: 'CSV', md: 'Markdown', tex: 'LaTeX' }[kind];
      button.addEventListener('click', () => save(`${section}-${number}.${kind}`, make()));
      bar.append(button);
    }
    after.after(bar);
  }
  all('svg.scale').forEach(svg => offer(svg, { svg: () => pictureFile(svg) }));
  all('.canvas').forEach(box => offer(box, { svg: () => chartFile(Chart.getChart(box.firstElementChild)) }));
  all('.scroll > table').forEach(table => offer(table.parentNode, Object.fromEntries(
    Object.entries(forms).map(([kind, form]) => [kind, () => form(rowsOf(table))]))));

  // Paper is white whatever the screen is.
  const repaint = print => {
    document.documentElement.toggleAttribute('data-print', print);
    draw();
  };
  window.addEventListener('beforeprint', () => repaint(true));
  window.addEventListener('afterprint', () => repaint(false));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
  draw();
})();
