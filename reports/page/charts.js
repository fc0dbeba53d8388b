// Charts, by Chart.js. A series is told by its point's shape or its dashes, never by colour alone. Each is drawn
// again when the theme changes, as a canvas has no style sheet.

const charts = new Map();  // id of the canvas -> {chart, make}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const seriesColour = (i) => colour(`--s${i % 6}`);
const pointShapes = ['circle', 'triangle', 'rect', 'rectRot', 'crossRot', 'star', 'cross', 'rectRounded'];
const pointShape = (i) => pointShapes[i % pointShapes.length];

function setChart(id, make) {
  charts.get(id)?.chart.destroy();
  charts.set(id, { make, chart: new Chart(byId(id), make()) });
}
function redrawCharts() {
  for (const [id, { make }] of [...charts]) setChart(id, make);
}

// What all have in common; `more` replaces parts of it.
function options(more) {
  const scale = (own) => ({
    grid: { color: colour('--line'), borderColor: colour('--line') },
    ...own,
    ticks: { color: colour('--muted'), maxRotation: 60, ...own.ticks },
    title: { display: Boolean(own.title), text: own.title, color: colour('--muted') },
  });
  return {
    animation: false, responsive: true, maintainAspectRatio: false, ...more,
    scales: Object.fromEntries(Object.entries(more.scales).map(([name, own]) => [name, scale(own)])),
    plugins: {
      ...more.plugins,
      legend: { display: false, ...more.plugins?.legend, labels: { usePointStyle: true, boxWidth: 8, boxHeight: 8, color: colour('--ink') } },
    },
  };
}

// A line at ratio 1, with a word.
const boundLine = {
  id: 'boundLine',
  beforeDatasetsDraw(chart) {
    const y = chart.scales.y.getPixelForValue(1);
    const { left, right, top, bottom } = chart.chartArea;
    if (!(y >= top && y <= bottom)) return;
    const context = chart.ctx;
    context.save();
    context.strokeStyle = context.fillStyle = colour('--bad');
    context.setLineDash([6, 4]);
    context.beginPath();
    context.moveTo(left, y);
    context.lineTo(right, y);
    context.stroke();
    context.font = '12px sans-serif';
    context.textAlign = 'right';
    context.fillText('bound', right - 4, y - 5);
    context.restore();
  },
};

// A line where the level of a trend changed, with words.
const changeLines = (changes) => ({
  id: 'changeLines',
  afterDatasetsDraw(chart) {
    const { top, bottom } = chart.chartArea;
    const context = chart.ctx;
    context.save();
    context.strokeStyle = context.fillStyle = colour('--ink');
    context.font = '12px sans-serif';
    for (const at of changes) {
      const x = chart.scales.x.getPixelForValue(at);
      const isRight = x > (chart.chartArea.left + chart.chartArea.right) / 2;
      context.beginPath();
      context.moveTo(x, top);
      context.lineTo(x, bottom);
      context.stroke();
      context.textAlign = isRight ? 'right' : 'left';
      context.fillText('level changed', x + (isRight ? -6 : 6), top + 12);
    }
    context.restore();
  },
});

function isPowerOf10(value) {
  const power = Math.log10(value);
  return Math.abs(power - Math.round(power)) < 1e-6;
}
const logTick = (value) => (isPowerOf10(value) ? short(value) : '');

// A logarithm has no 0 and no infinity: what is under `leastRatio` stands there, what is infinite or NaN a decade above
// all others.
const leastRatio = 1e-4;
function ratioScale(values, title) {
  const top = values.reduce((most, v) => (Number.isFinite(v) ? Math.max(most, 10 * v) : most), 10);
  const hasTop = values.some((v) => !Number.isFinite(v)), hasLeast = values.some((v) => v < leastRatio);
  return {
    at: (v) => (Number.isFinite(v) ? Math.max(v, leastRatio) : top),
    axis: {
      type: 'logarithmic', title, min: hasLeast ? leastRatio / 2 : undefined, max: hasTop ? 2 * top : undefined,
      afterBuildTicks: (axis) => {
        axis.ticks = axis.ticks.filter(({ value }) => isPowerOf10(value) && value > leastRatio && !(hasTop && value > top / 2));
        if (hasLeast) axis.ticks.unshift({ value: leastRatio });
        if (hasTop) axis.ticks.push({ value: top });
      },
      ticks: {
        autoSkip: false,
        callback: (v) => (hasLeast && v === leastRatio ? `\u2264 ${leastRatio}` : hasTop && v === top ? '\u221e' : logTick(v)),
      },
    },
  };
}

// Of points that would lie on one another the first that did not pass, else the first: a large run has thousands.
function visiblePoints(points) {
  const shown = new Map();
  for (const point of points) {
    const place = `${Math.round(40 * Math.log10(point.x))} ${Math.round(20 * Math.log10(point.y))}`;
    const there = shown.get(place);
    if (!there || (there.of.status === 'passed' && point.of.status !== 'passed')) shown.set(place, point);
  }
  return [...shown.values()];
}

// Tokens are 0 too: they stand at half a token.
const lengthAt = (longest) => Math.max(longest, 0.5);

function scatterSets(of, scale) {
  const kernels = [...new Set(cases.map((c) => c.kernel))];
  return kernels.map((kernel, i) => ({
    label: kernel,
    pointStyle: pointShape(i),
    borderColor: seriesColour(i),
    backgroundColor: 'transparent',
    borderWidth: 1.5,
    data: visiblePoints(cases.filter((c) => c.kernel === kernel && !(c[of] < 0))
      .map((c) => ({ x: lengthAt(c.longest), y: scale.at(c[of]), of: c }))),
    pointRadius: (point) => (point.raw && isOver(point.raw.of[of]) ? 7 : 4),
  }));
}

function scatterConfig(of) {
  const scale = ratioScale(cases.map((c) => c[of]).filter((ratio) => !(ratio < 0)), 'error / bound');
  return {
    type: 'scatter',
    data: { datasets: scatterSets(of, scale) },
    plugins: [boundLine],
    options: options({
      scales: {
        x: {
          type: 'logarithmic', min: 0.4, title: 'longest sequence, tokens', ticks: { maxRotation: 0, autoSkip: false, callback: (v) => (v === 0.5 ? '0' : logTick(v)) },
          afterBuildTicks: (axis) => { axis.ticks = [{ value: 0.5 }, ...axis.ticks.filter(({ value }) => value >= 1)]; },
        },
        y: scale.axis,
      },
      plugins: {
        legend: { display: true },
        tooltip: { callbacks: { label: ({ raw }) => `${raw.of.status}: ratio ${short(raw.of[of])}, ${raw.of.token.slice(0, 90)}` } },
      },
      onClick: (event, hit, chart) => {
        if (hit.length > 0) showCases({ match: chart.data.datasets[hit[0].datasetIndex].data[hit[0].index].of.token });
      },
    }),
  };
}

// Bars over the bound are striped.
function stripes() {
  const tile = document.createElement('canvas');
  tile.width = tile.height = 8;
  const context = tile.getContext('2d');
  context.fillStyle = colour('--bad-soft');
  context.fillRect(0, 0, 8, 8);
  context.strokeStyle = colour('--bad');
  context.lineWidth = 2;
  for (const offset of [-8, 0, 8]) {
    context.beginPath();
    context.moveTo(offset, 8);
    context.lineTo(offset + 8, 0);
    context.stroke();
  }
  return context.createPattern(tile, 'repeat');
}

function histogramConfig(labels, counts, firstOver) {
  const total = counts.reduce((a, b) => a + b, 0);
  return {
    type: 'bar',
    data: {
      labels,
      datasets: [{
        data: counts.map((n) => n || null),
        minBarLength: 2,
        backgroundColor: counts.map((n, i) => (i >= firstOver ? stripes() : seriesColour(0))),
        borderColor: counts.map((n, i) => colour(i >= firstOver ? '--bad' : '--s0')),
        borderWidth: 1,
        barPercentage: 1,
        categoryPercentage: 0.92,
      }],
    },
    options: options({
      scales: { x: { grid: { display: false } }, y: { type: 'logarithmic', min: 0.5, title: 'elements', ticks: { callback: logTick } } },
      plugins: { tooltip: { callbacks: { label: ({ raw }) => `${raw} elements, ${short((100 * raw) / total)} %` } } },
    }),
  };
}
