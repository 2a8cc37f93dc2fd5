"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const tokens = data.tokens, count = tokens.length;
const heads = data.coordinates[0].length, queryHeads = data.attended[0].length;
const at = id => document.getElementById(id);
const make = (name, text = "") => Object.assign(document.createElement(name), { textContent: text });
const shown = label => label.replace(/\n/g, "⏎").replace(/\t/g, "⇥").replace(/^ /, "·") || "∅";
const percent = x => Math.round(100 * x) + " %";
const mean = list => list.reduce((a, b) => a + b, 0) / list.length;
const variance = list => { const m = mean(list); return mean(list.map(x => (x - m) ** 2)); };

// How much of a head's coordinates a straight line through the index tells.
function byIndex(c) {
  const middle = (count - 1) / 2, m = mean(c), total = variance(c);
  if (total < 1e-9) return 0;
  const slope = mean(c.map((x, i) => (x - m) * (i - middle))) / variance([...c.keys()]);
  return slope ** 2 * variance([...c.keys()]) / total;
}
// Tokens that come more than once, with their places.
const repeated = new Map();
tokens.forEach((label, i) => repeated.set(label, [...(repeated.get(label) || []), i]));
for (const [label, places] of repeated) if (places.length < 2) repeated.delete(label);
// How much of the coordinates of such tokens follows from which token it is.
function byToken(c) {
  const groups = [...repeated.values()].map(places => places.map(i => c[i])), all = groups.flat();
  if (all.length < 4 || variance(all) < 1e-9) return 0;
  const within = groups.reduce((sum, g) => sum + variance(g) * g.length, 0) / all.length;
  const free = all.length - groups.length;  // what chance alone would take away
  return Math.max(0, 1 - within * all.length / Math.max(1, free) / variance(all));
}
const stats = data.coordinates.map(layer => layer.map(c => ({
  index: byIndex(c), token: byToken(c), spread: Math.sqrt(variance(c)) / data.length })));

// What heads can be shaded by: a title, a sentence, the number from 0 to 1, and how it is written.
const shades = {
  token: ["by token", "Shaded by how much of a coordinate follows from which token it is.",
    s => s.token, percent],
  index: ["by index", "Shaded by how much of a coordinate follows from the token's index.",
    s => s.index, percent],
  spread: ["spread", "Shaded by the deviation of coordinates, in parts of the training length.",
    s => s.spread * 2, x => (x / 2).toFixed(2)],
};
if (data.alpha)
  shades.alpha = ["alpha", "Shaded by alpha, the strength of the positional prior.",
    (s, l, h) => data.alpha[l][h], x => x.toFixed(2)];

let layer = 0, head = 0, token = Math.floor(count / 2);
let shade = data.learned ? "token" : "index";
if (data.learned) {  // begin with the head that has moved tokens the most
  let best = -1;
  stats.forEach((row, l) => row.forEach((s, h) => {
    const score = s.spread * (1 - s.index);
    if (score > best) [best, layer, head] = [score, l, h];
  }));
}

const hue = c => { const x = c / data.length; return `hsl(${250 - 220 * x} ${65 + 20 * x}% 79%)`; };
const coordinate = i => data.coordinates[layer][head][i];
const queryHead = () => Math.floor(head * queryHeads / heads);
function attention(i) {
  const keys = data.attended[layer][queryHead()][i], shares = data.shares[layer][queryHead()][i];
  return keys.map((key, n) => ({ key, share: shares[n] })).filter(x => x.key <= i && x.share > 0.005);
}
function moved(i) {
  return [...tokens.keys()].filter(j => Math.abs(j - i) > 8)
    .map(j => ({ key: j, gap: Math.abs(coordinate(j) - coordinate(i)) }))
    .sort((a, b) => a.gap - b.gap).slice(0, 8);
}

function drawHeads() {
  const [, words, value, format] = shades[shade];
  at("shade").textContent = words;
  at("shades").replaceChildren(...Object.entries(shades).map(([name, [title]]) => {
    const button = make("button", title);
    button.setAttribute("aria-pressed", name === shade);
    button.onclick = () => { shade = name; drawHeads(); };
    return button;
  }));
  at("heads").replaceChildren(...stats.map((row, l) => {
    const line = make("div");
    line.append(make("span", "layer " + l), ...row.map((s, h) => {
      const x = value(s, l, h), button = make("button", format(x));
      button.style.background = `rgb(var(--heat) / ${Math.min(0.7, 0.7 * Math.max(0, x))})`;
      button.title = `layer ${l}, head ${h}: by token ${percent(s.token)}, by index ${percent(s.index)}, ` +
        "spread " + s.spread.toFixed(2) + (data.alpha ? ", alpha " + data.alpha[l][h].toFixed(2) : "");
      button.setAttribute("aria-pressed", l === layer && h === head);
      button.onclick = () => { [layer, head] = [l, h]; draw(); };
      return button;
    }));
    return line;
  }));
}

function drawFinding() {
  const s = stats[layer][head];
  if (!data.learned) {
    at("finding").textContent = data.note;
    return;
  }
  const far = [...tokens.keys()].filter(i => moved(i)[0] && moved(i)[0].gap < data.length / 100 &&
    Math.abs(moved(i)[0].key - i) > count / 8).length;
  at("finding").textContent = `Layer ${layer}, head ${head}: ${percent(s.index)} of the coordinate's ` +
    `variation follows the index, ${percent(s.token)} which token it is; ${far} of ${count} tokens were ` +
    `moved within 1 % of the context of one that stands more than ${Math.floor(count / 8)} places away.`;
}

// Whole numbers from 0 to `most` in at most five round steps.
function ticks(most) {
  const ten = 10 ** Math.floor(Math.log10(Math.max(1, most / 5)));
  const step = [1, 2, 5, 10].map(n => n * ten).find(size => 5 * size >= most);
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, i) => i * step);
}

const NS = "http://www.w3.org/2000/svg";
function shape(name, attributes, text) {
  const node = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text) node.textContent = text;
  return node;
}
// Names beside their points, each where it covers no other; one that finds no room is left out.
function nameTokens(svg, names, from, to) {
  const letter = 7, line = 12, taken = [];
  for (const { x, y, text } of names) {
    const long = letter * text.length;
    const spots = [[x + 7, y - 6], [x + 7, y + 14], [x - 7 - long, y - 6], [x - 7 - long, y + 14]];
    const free = spots.find(([left, base]) => left >= from && left + long <= to && taken.every(other =>
      left + long <= other.left || other.left + other.long <= left || Math.abs(base - other.base) >= line));
    if (!free) continue;
    taken.push({ left: free[0], base: free[1], long });
    svg.append(shape("text", { class: "name", x: free[0], y: free[1] }, text));
  }
}
function drawPlot() {
  const w = Math.max(300, at("plot").clientWidth), h = Math.max(300, Math.min(460, 0.6 * w));
  const left = 52, right = 16, top = 14, bottom = 34;
  const most = data.learned ? data.length : Math.max(data.length, count);
  const x = i => left + (w - left - right) * (i + 0.5) / count;
  const y = c => h - bottom - (h - top - bottom) * c / most;
  const name = { role: "img", "aria-label": "index against coordinate" };
  const svg = shape("svg", { viewBox: `0 0 ${w} ${h}`, ...name });
  for (const up of ticks(most))
    svg.append(shape("text", { class: "up", x: left - 6, y: y(up) + 4, "text-anchor": "end" }, String(up)));
  for (const across of ticks(count - 1))
    svg.append(shape("text", { class: "across", x: x(across), y: h - 18, "text-anchor": "middle" },
      String(across)));
  svg.append(shape("text", { x: w / 2, y: h - 4, "text-anchor": "middle" }, "index"));
  svg.append(shape("text", { x: left + 6, y: 13 }, "coordinate"));
  const end = Math.min(count, most);
  svg.append(shape("line", { class: "same", x1: x(0), y1: y(0), x2: x(end - 1), y2: y(end - 1) }));
  const near = moved(token), reach = near.length ? Math.max(near[near.length - 1].gap, most / 400) : 0;
  svg.append(shape("rect", { class: "band", x: left, width: w - left - right, y: y(coordinate(token) + reach),
    height: y(coordinate(token) - reach) - y(coordinate(token) + reach) }));
  for (const { key, share } of attention(token))
    svg.append(shape("circle",
      { class: "ring", cx: x(key), cy: y(coordinate(key)), r: 4 + 14 * Math.sqrt(share) }));
  tokens.forEach((label, i) => {
    const dot = shape("circle", { class: "dot", cx: x(i), cy: y(coordinate(i)), r: i === token ? 6 : 3.4,
      fill: i === token ? "var(--ink)" : hue(coordinate(i)).replace("79%", "48%") });
    dot.append(shape("title", {}, `${shown(label)} at ${i}, coordinate ${coordinate(i).toFixed(1)}`));
    dot.onclick = () => { token = i; drawToken(); };
    svg.append(dot);
  });
  const named = new Set([token, ...[...near.slice(0, 5), ...attention(token).slice(0, 3)].map(n => n.key)]);
  const nameOf = i => ({ x: x(i), y: y(coordinate(i)), text: shown(tokens[i]).slice(0, 14) });
  nameTokens(svg, [...named].map(nameOf), left, w);
  at("plot").replaceChildren(svg);
}

function table(node, head_, rows) {
  const line = (cells, name) => {
    const row = make("tr");
    row.append(...cells.map(c => c instanceof Node ? c : make(name, c)));
    return row;
  };
  node.replaceChildren(line(head_, "th"), ...rows.map(cells => line(cells, "td")));
}
function link(i) {
  const cell = make("td"), code = make("code", shown(tokens[i]));
  code.style.cursor = "pointer";
  code.onclick = () => { token = i; drawToken(); };
  cell.append(code);
  return cell;
}
const away = i => i === token ? "itself" : Math.abs(i - token) + (i < token ? " before" : " behind");
function drawToken() {
  at("picked").replaceChildren("The token ", make("code", shown(tokens[token])),
    ` at ${token}, coordinate ${coordinate(token).toFixed(1)}`);
  const seen = attention(token), near = moved(token);
  table(at("near"), ["token", "place", "coordinates apart", "attention"], near.map(({ key, gap }) => {
    const found = seen.find(s => s.key === key);
    const share = found ? percent(found.share) : key > token ? "not yet read" : "–";
    return [link(key), away(key), gap.toFixed(1), share];
  }));
  table(at("attended"), ["token", "place", "coordinates apart", "share"], seen.map(({ key, share }) =>
    [link(key), away(key), Math.abs(coordinate(key) - coordinate(token)).toFixed(1), percent(share)]));
  [...at("text").children].forEach((span, i) => {
    span.classList.toggle("here", i === token);
    span.classList.toggle("moved", near.some(n => n.key === i));
    span.classList.toggle("seen", seen.some(s => s.key === i));
  });
  drawPlot();
}
function drawText() {
  at("text").replaceChildren(...tokens.map((label, i) => {
    const span = make("span", data.joined ? label.replace(/\n/g, "⏎\n") : label + " ");
    span.style.background = hue(coordinate(i));
    span.title = `${i}: coordinate ${coordinate(i).toFixed(1)}`;
    span.onclick = () => { token = i; drawToken(); };
    return span;
  }));
}
function drawRepeated() {
  const rows = [...repeated].map(([label, places]) => {
    const c = places.map(coordinate);
    return { label, count: c.length, mean: mean(c), sd: Math.sqrt(variance(c)) };
  }).sort((a, b) => a.mean - b.mean);
  const cells = r => {
    const cell = make("td");
    cell.append(make("code", shown(r.label)));
    return [cell, r.count, r.mean.toFixed(1), r.sd.toFixed(1)];
  };
  table(at("low"), ["lowest", "times", "mean", "deviation"], rows.slice(0, 10).map(cells));
  table(at("high"), ["highest", "times", "mean", "deviation"], rows.slice(-10).reverse().map(cells));
}
function draw() { drawHeads(); drawFinding(); drawText(); drawToken(); drawRepeated(); }
window.onresize = drawPlot;
at("what").textContent = data.title;
at("most").textContent = data.length;
draw();
