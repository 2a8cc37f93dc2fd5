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
      const settings = options('test length', chart.accuracy ? 'accuracy, %' : 'loss, nats');
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
