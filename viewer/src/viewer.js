'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const at = (id) => document.getElementById(id);
  const shown = { sentence: 0, kind: 'cross', layer: 0, head: -1, row: -1, column: -1 };
  const WORDS = {
    encoder: 'Encoder self-attention: each row is a source token and says from which source tokens it takes what it means.',
    decoder: 'Decoder self-attention: each row is a token of the translation and says which tokens before it were looked at when it was chosen.',
    cross: 'Cross-attention: each row is a token of the translation and says which source tokens were looked at when it was chosen.',
  };
  const FORMULA = ' A row is softmax(q·Kᵀ / √d) and sums to 1.';

  // ---- data

  const sentence = () => data.sentences[shown.sentence];
  const kind = () => sentence().kinds.find((kind) => kind.kind === shown.kind);
  const layer = () => kind().layers.find((layer) => layer.layer === shown.layer);
  const decoded = new WeakMap();
  const weightsOf = (layer) => {
    if (!decoded.has(layer)) {
      const text = atob(layer.weights);
      const values = new Float32Array(text.length / 2);
      for (let i = 0; i < values.length; i++) {
        values[i] = (text.charCodeAt(2 * i) | (text.charCodeAt(2 * i + 1) << 8)) / 65535;
      }
      decoded.set(layer, values);
    }
    return decoded.get(layer);
  };
  /** One head, or the mean of all. */
  const mapOf = (layer, head, size) => {
    const all = weightsOf(layer);
    if (head >= 0) return all.subarray(head * size, (head + 1) * size);
    const mean = new Float32Array(size);
    for (let i = 0; i < all.length; i++) mean[i % size] += all[i] / layer.heads;
    return mean;
  };
  const statistics = (layer, head) =>
    sentence().heads.find((one) => one.kind === shown.kind && one.layer === layer && one.head === head);
  const percent = (value) => (value >= 0.1 ? Math.round(value * 100) : (value * 100).toFixed(1)) + ' %';

  // ---- colours

  const tables = {};
  for (const [name, text] of Object.entries(data.maps)) {
    tables[name] = Array.from({ length: 256 }, (_, i) => parseInt(text.slice(6 * i, 6 * i + 6), 16));
  }
  const paint = (canvas, map, rows, columns, scale) => {
    const byRow = scale === 'row';
    const shade = scale === 'log' ? (value) => Math.log10(1 + 999 * value) / 3 : (value) => value;
    canvas.width = columns;
    canvas.height = rows;
    const context = canvas.getContext('2d');
    const image = context.createImageData(columns, rows);
    const table = tables[at('colours').value];
    const top = (from, to) => { let largest = 0; for (let i = from; i < to; i++) if (map[i] > largest) largest = map[i]; return largest; };
    let largest = byRow ? 0 : top(0, map.length);
    for (let i = 0; i < map.length; i++) {
      if (byRow && i % columns === 0) largest = top(i, i + columns);
      const colour = table[largest > 0 ? Math.min(255, Math.round(shade(map[i] / largest) * 255)) : 0];
      image.data[4 * i] = colour >> 16;
      image.data[4 * i + 1] = (colour >> 8) & 255;
      image.data[4 * i + 2] = colour & 255;
      image.data[4 * i + 3] = 255;
    }
    context.putImageData(image, 0, 0);
  };

  // ---- elements; texts are texts, never markup

  const element = (name, text, properties = {}) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    return Object.assign(made, properties);
  };
  const options = (select, choices, chosen) => {
    select.replaceChildren(...choices.map(([value, text]) => element('option', text, { value })));
    select.value = chosen;
  };

  /** A text whose tokens can be lit up. */
  const textOf = (place, text, ranges) => {
    const pieces = [];
    let end = 0;
    ranges.forEach((range, token) => {
      if (!range || range[0] < end) return;
      pieces.push(document.createTextNode(text.slice(end, range[0])));
      const span = element('span', text.slice(range[0], range[1]));
      span.dataset.token = token;
      pieces.push(span);
      end = range[1];
    });
    pieces.push(document.createTextNode(text.slice(end)));
    place.replaceChildren(...pieces);
  };

  // ---- the large map

  let current = { map: new Float32Array(0), rows: 0, columns: 0, cell: 1 };

  const drawMap = () => {
    const { queries, keys } = kind();
    const map = mapOf(layer(), shown.head, queries.length * keys.length);
    const room = Math.max(200, at('scroll').clientWidth - 150);
    const cell = Math.max(queries.length > 150 ? 6 : 14, Math.min(queries.length > 12 ? 40 : 64, Math.floor(room / keys.length)));
    current = { map, rows: queries.length, columns: keys.length, cell };
    const canvas = at('cells');
    const scale = window.devicePixelRatio || 1;
    const small = document.createElement('canvas');
    paint(small, map, queries.length, keys.length, at('scales').value);
    // beyond this size the browser scales the pixels itself
    const sharp = keys.length * queries.length * cell * cell * scale * scale < 1.6e7;
    canvas.style.width = keys.length * cell + 'px';
    canvas.style.height = queries.length * cell + 'px';
    canvas.style.imageRendering = sharp ? 'auto' : 'pixelated';
    canvas.width = sharp ? Math.round(keys.length * cell * scale) : keys.length;
    canvas.height = sharp ? Math.round(queries.length * cell * scale) : queries.length;
    const context = canvas.getContext('2d');
    context.imageSmoothingEnabled = false;
    context.drawImage(small, 0, 0, canvas.width, canvas.height);
    if (sharp && cell >= 10) {
      // thin lines between cells, in the colour of what lies behind
      context.strokeStyle = getComputedStyle(at('keys')).backgroundColor;
      context.lineWidth = scale;
      context.beginPath();
      for (let i = 1; i < keys.length; i++) { context.moveTo(i * cell * scale, 0); context.lineTo(i * cell * scale, canvas.height); }
      for (let i = 1; i < queries.length; i++) { context.moveTo(0, i * cell * scale); context.lineTo(canvas.width, i * cell * scale); }
      context.stroke();
    }
    const size = Math.min(13, cell - 1) + 'px';
    at('keys').style.setProperty('--label', size);
    at('queries').style.setProperty('--label', size);
    // labels lie down where they have room to
    const ruler = small.getContext('2d');
    ruler.font = '13px system-ui, sans-serif';
    at('keys').className = keys.every((label) => ruler.measureText(label).width < cell - 6) ? 'flat' : '';
    at('keys').replaceChildren(...keys.map((label) => {
      const span = element('span', label);
      span.style.width = cell + 'px';
      return span;
    }));
    at('queries').replaceChildren(...queries.map((label) => {
      const span = element('span', label);
      span.style.height = span.style.lineHeight = cell + 'px';
      return span;
    }));
    let largest = 0;
    for (const weight of map) if (weight > largest) largest = weight;
    at('most').textContent = at('scales').value === 'row' ? 'most of the row' : largest.toFixed(2);
    paint(at('scale'), Float32Array.from({ length: 64 }, (_, i) => i), 1, 64, 'linear');
    const which = shown.head < 0 ? 'mean of ' + layer().heads + ' heads' : 'head ' + shown.head;
    at('caption').textContent = kind().name[0].toUpperCase() + kind().name.slice(1) + ', layer ' + shown.layer + ', ' + which;
    canvas.setAttribute('aria-label', at('caption').textContent + '. Arrow keys move from cell to cell; the table below has all numbers.');
    const numbers = shown.head < 0 ? undefined : statistics(shown.layer, shown.head);
    at('looks').textContent = numbers
      ? 'Looks like “' + numbers.label + '”: entropy ' + numbers.entropy.toFixed(2) + ' nats (' + percent(numbers.relative_entropy)
        + ' of uniform), confidence ' + percent(numbers.confidence)
        + (numbers.components === null ? '' : ', ' + numbers.components + ' of ' + numbers.full_rank + ' components hold 90 % of the variance') + '.'
      : 'Choose a head to see one alone.';
    at('explained').textContent = WORDS[shown.kind] + FORMULA;
    if (at('words').open) drawTable();
    point(-1, -1);
  };

  const lightUp = (place, tokens) => {
    for (const span of place.children) {
      const weight = tokens.get(Number(span.dataset.token)) || 0;
      span.className = weight === 'here' ? 'here' : weight > 0 ? 'lit' : '';
      span.style.backgroundColor = weight > 0 ? 'rgba(var(--tint), ' + (0.5 * Math.min(1, weight)).toFixed(3) + ')' : '';
    }
  };

  /** Shows one cell: its numbers, its labels, and its row over the texts. */
  const point = (row, column) => {
    const { map, rows, columns } = current;
    const inside = row >= 0 && row < rows;
    shown.row = inside ? row : -1;
    shown.column = inside ? column : -1;
    const mark = (place, index) => {
      for (const span of place.querySelectorAll('.here')) span.className = '';
      if (place.children[index]) place.children[index].className = 'here';
    };
    mark(at('queries'), shown.row);
    mark(at('keys'), shown.column);
    const weights = new Map();
    const own = new Map();
    if (inside) {
      for (let i = 0; i < columns; i++) if (map[row * columns + i] > 0.01) weights.set(i, map[row * columns + i]);
      own.set(shown.kind === 'encoder' ? row : row + 1, 'here');
    }
    const lit = shown.kind === 'encoder' ? [new Map([...weights, ...own]), new Map()]
      : shown.kind === 'decoder' ? [new Map(), new Map([...weights, ...own])] : [weights, own];
    lightUp(at('source'), lit[0]);
    lightUp(at('target'), lit[1]);
    const { queries, keys } = kind();
    at('readout').textContent = inside && column >= 0 && column < columns
      ? '“' + queries[row] + '” looks at “' + keys[column] + '”: ' + map[row * columns + column].toFixed(4)
      : 'Point at a cell, or move with the arrow keys.';
    const token = shown.kind === 'encoder' || !inside ? undefined : sentence().tokens[row + 1];
    at('others').textContent = token && token.probability !== null && token.probability !== undefined
      ? '“' + queries[row] + '” was chosen with ' + percent(token.probability)
        + (token.alternatives.length ? '; the most probable were ' + token.alternatives.map(([piece, p]) => piece + ' ' + percent(p)).join(', ') : '') + '.'
      : '';
  };

  /** After another size or scheme: the cell stays the same. */
  const redraw = () => {
    const { row, column } = shown;
    drawMap();
    point(row, column);
  };

  const drawTable = () => {
    const { queries, keys } = kind();
    const head = element('tr');
    head.append(element('th', '', { className: 'name' }), ...keys.map((key) => element('th', key)));
    // a table of a long text is cut to what a reader can use: the five largest of each row
    const whole = keys.length <= 40;
    const rows = queries.map((query, row) => {
      const line = element('tr');
      line.append(element('th', query, { className: 'name' }));
      const weights = Array.from(current.map.subarray(row * keys.length, (row + 1) * keys.length));
      if (whole) line.append(...weights.map((weight) => element('td', weight.toFixed(3))));
      else {
        const best = weights.map((weight, key) => [weight, key]).sort((a, b) => b[0] - a[0]).slice(0, 5);
        line.append(element('td', best.map(([weight, key]) => keys[key] + ' ' + weight.toFixed(3)).join(', '), { className: 'name' }));
      }
      return line;
    });
    at('table').replaceChildren(...(whole ? [head] : []), ...rows);
  };

  // a number, and the curve of the variance that the first 1, 2, 3, … components hold
  const components = ({ components, full_rank, spectrum }) => {
    if (components === null) return element('td', '–'); // too large a map
    const points = [1, 2, 3, 4, 5, 6].map((sixth) => spectrum[Math.ceil(sixth * spectrum.length / 6) - 1] ?? 0);
    const bars = points.map((share) => '▁▂▃▄▅▆▇█'[Math.min(7, Math.max(0, Math.ceil(share * 8) - 1))]);
    return element('td', components + '/' + full_rank + ' ' + bars.join(''));
  };

  const drawStatistics = () => {
    const columns = [['layer', 'layer'], ['head', 'head'], ['label', 'looks like'], ['entropy', 'entropy'], ['relative_entropy', 'of uniform'],
      ['distance', 'distance'], ['diagonal', 'diagonal'], ['previous', 'previous'], ['next', 'next'], ['special', 'end token'],
      ['punctuation', 'punctuation'], ['rare', 'rarest'], ['confidence', 'confidence'], ['components', 'components']];
    const head = element('tr');
    head.append(...columns.map(([key, name]) => element('th', name, { className: key === 'label' ? 'name' : '', scope: 'col' })));
    const rows = sentence().heads.filter((one) => one.kind === shown.kind).map((one) => {
      const line = element('tr');
      line.append(...columns.map(([key]) => key === 'components' ? components(one) : element('td', typeof one[key] === 'number' && !Number.isInteger(one[key]) ? one[key].toFixed(2) : one[key] ?? '–',
        { className: key === 'label' ? 'name' : '' })));
      return line;
    });
    at('statistics').replaceChildren(head, ...rows);
  };

  // ---- all heads

  const watcher = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting || !target.draw) continue;
      target.draw();
      target.draw = undefined;
      watcher.unobserve(target);
    }
  });

  const drawAll = () => {
    const { queries, keys, layers } = kind();
    const place = at('all');
    place.style.setProperty('--heads', Math.max(1, ...layers.map((layer) => layer.heads)));
    place.replaceChildren(...layers.map((layer) => {
      const line = element('div', undefined, { className: 'layer' });
      line.append(element('span', 'layer ' + layer.layer));
      for (let head = 0; head < layer.heads; head++) {
        const button = element('button', undefined, { type: 'button' });
        const numbers = statistics(layer.layer, head);
        const name = 'layer ' + layer.layer + ', head ' + head + (numbers ? ': ' + numbers.label : '');
        button.setAttribute('aria-label', name);
        button.title = name;
        button.dataset.layer = layer.layer;
        button.dataset.head = head;
        const canvas = element('canvas');
        canvas.draw = () => paint(canvas, mapOf(layer, head, queries.length * keys.length), queries.length, keys.length, at('scales').value);
        watcher.observe(canvas);
        button.append(canvas);
        button.addEventListener('click', () => { shown.layer = layer.layer; shown.head = head; show(); });
        line.append(button);
      }
      return line;
    }));
  };

  const markChosen = () => {
    for (const button of at('all').querySelectorAll('button')) {
      const chosen = Number(button.dataset.layer) === shown.layer && (shown.head < 0 || Number(button.dataset.head) === shown.head);
      button.setAttribute('aria-pressed', String(chosen && shown.head >= 0));
    }
  };

  // ---- the search

  const ROW = 30;
  const GAP = 26;
  const signed = (value) => value.toFixed(2).replace('-', '−');
  /** The page has them as a pattern, because a script would have to name where SVG comes from. */
  const pattern = at('edges').content.firstElementChild;

  const drawSearch = () => {
    const { search } = sentence();
    at('search').hidden = !search;
    at('tree').replaceChildren();
    if (!search) return;
    const { nodes, labels, listed, finished, penalty, beams } = search;
    const columns = [];
    const rows = nodes.map(([, step], node) => (columns[step - 1] ??= []).push(node) - 1);
    const winner = listed.length > 0 ? listed[0][0] : null;
    const best = new Set();
    for (let node = winner; node !== null; node = nodes[node][0]) best.add(node);
    const draw = (column) => {
      const edges = pattern.cloneNode();
      const spans = column.map((node, row) => {
        const [parent, step, id, probability, sum, fate] = nodes[node];
        const name = 'is-' + fate + (best.has(node) ? ' is-best' : '');
        const [from, to] = [parent === null ? 0 : rows[parent], row].map((row) => (row + 0.5) * ROW);
        const edge = pattern.firstElementChild.cloneNode();
        edge.setAttribute('class', name);
        edge.setAttribute('d', `M0 ${from}C${GAP / 2} ${from} ${GAP / 2} ${to} ${GAP} ${to}`);
        edges.append(edge);
        const score = sum / step ** penalty;
        const span = element('span', undefined, { className: name + (node === winner ? ' is-winner' : '') });
        span.style.top = row * ROW + 3 + 'px';
        span.title = labels[id] + ', ' + percent(probability) + ', together ' + signed(sum) + ', ' + fate;
        span.append(element('bdi', labels[id]), element('small', fate === 'finished' ? signed(score) : percent(probability)));
        return span;
      });
      return [edges, ...spans];
    };
    at('tree').style.setProperty('--high', columns.reduce((most, column) => Math.max(most, column.length), 0) * ROW + 'px');
    // of a long search only what somebody comes near is made
    at('tree').append(...columns.map((column) => {
      const step = element('div', undefined, { className: 'step' });
      step.draw = () => step.replaceChildren(...draw(column));
      watcher.observe(step);
      return step;
    }));
    at('tree').scrollLeft = 0;
    at('tree').setAttribute('aria-label', 'Search tree of ' + nodes.length + ' tokens; the list below has what it finished.');
    at('hypotheses').replaceChildren(...listed.map(([, score, text]) => {
      const line = element('li');
      line.append(element('b', signed(score)), element('bdi', text));
      return line;
    }));
    at('ranked').textContent = beams + (beams === 1 ? ' beam, ' : ' beams, ') + finished + (finished === 1 ? ' hypothesis' : ' hypotheses')
      + '. A hypothesis of n tokens scores the sum of its log-probabilities over n to the power of ' + penalty + '.';
  };

  const drawTaps = () => {
    const { taps } = sentence();
    at('taps').hidden = taps.length === 0;
    const line = (tag, cells) => {
      const row = element('tr');
      row.append(...cells.map((cell, index) => element(index ? tag : 'th', cell, index ? {} : { scope: tag === 'th' ? 'col' : 'row' })));
      return row;
    };
    at('tapped').replaceChildren(line('th', ['tap', 'shape', 'least', 'largest']), ...taps.map((tap) => line('td', tap)));
  };

  // ---- choices

  /** After another layer or head. */
  const show = () => {
    options(at('layer'), kind().layers.map((layer) => [layer.layer, layer.layer]), shown.layer);
    options(at('head'), [[-1, 'mean of all'], ...Array.from({ length: layer().heads }, (_, head) => [head, head])], shown.head);
    drawMap();
    markChosen();
  };

  /** After another kind. */
  const showKind = () => {
    const { layers } = kind();
    shown.layer = layers[layers.length - 1].layer;
    shown.head = -1;
    drawAll();
    drawStatistics();
    show();
  };

  /** After another sentence. */
  const showSentence = () => {
    const { kinds, source, target, sourceRanges, targetRanges, leftOut, alignment } = sentence();
    const there = kinds.filter((kind) => kind.layers.length > 0).map((kind) => kind.kind);
    if (!there.includes(shown.kind)) shown.kind = there[there.length - 1];
    for (const input of at('kinds').querySelectorAll('input')) {
      input.disabled = !there.includes(input.value);
      input.checked = input.value === shown.kind;
    }
    textOf(at('source'), source, sourceRanges);
    textOf(at('target'), target, targetRanges);
    at('alignment').textContent = alignment.length ? 'Words that belong together: ' + alignment.join(', ') : '';
    at('left-out').textContent = leftOut.length ? 'Not here, because it would take too much memory: ' + leftOut.join(', ') + '.' : '';
    drawSearch();
    drawTaps();
    if (there.length > 0) showKind();
    else at('caption').textContent = 'Nothing was kept of this sentence.';
  };

  for (const [value, text] of [['cross', 'Cross'], ['encoder', 'Encoder'], ['decoder', 'Decoder']]) {
    const label = element('label');
    const input = element('input', undefined, { type: 'radio', name: 'kind', value });
    input.addEventListener('change', () => { shown.kind = value; showKind(); });
    label.append(input, element('span', text));
    at('kinds').append(label);
  }
  at('model').textContent = data.model;
  at('sentence-choice').hidden = data.sentences.length < 2;
  const cut = (text) => (text.length > 60 ? text.slice(0, 60) + '…' : text);
  options(at('sentence'), data.sentences.map((sentence, index) => [index, index + 1 + '. ' + cut(sentence.source)]), 0);
  at('sentence').addEventListener('change', () => { shown.sentence = Number(at('sentence').value); showSentence(); });
  at('layer').addEventListener('change', () => { shown.layer = Number(at('layer').value); show(); });
  at('head').addEventListener('change', () => { shown.head = Number(at('head').value); show(); });
  for (const id of ['colours', 'scales']) at(id).addEventListener('change', () => { drawAll(); show(); });
  at('words').addEventListener('toggle', () => { if (at('words').open) drawTable(); });
  const canvas = at('cells');
  canvas.addEventListener('pointermove', (event) => {
    const { left, top } = canvas.getBoundingClientRect();
    point(Math.floor((event.clientY - top) / current.cell), Math.floor((event.clientX - left) / current.cell));
  });
  canvas.addEventListener('pointerleave', () => { if (document.activeElement !== canvas) point(-1, -1); });
  canvas.addEventListener('keydown', (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    const clamp = (value, size) => Math.max(0, Math.min(size - 1, value));
    point(clamp(Math.max(0, shown.row) + (shown.row < 0 ? 0 : step[0]), current.rows),
      clamp(Math.max(0, shown.column) + (shown.column < 0 ? 0 : step[1]), current.columns));
  });
  let waiting = 0;
  addEventListener('resize', () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(redraw); });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  showSentence();
})();
