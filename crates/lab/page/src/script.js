'use strict';
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const make = (name, properties, ...children) => {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
};

// A heading sorts its table: by the numbers that cells begin with, or else by their words.
const numberIn = cell => cell?.firstChild?.nodeType === Node.TEXT_NODE
  ? parseFloat(cell.firstChild.data.replace(/^[≥≤] /, '')) : NaN;
const by = column => (one, other) => {
  const cells = [one, other].map(row => row.cells[column]);
  const [a, b] = cells.map(cell => cell?.textContent.trim() ?? '');
  const [x, y] = cells.map(numberIn);
  if (Number.isNaN(x) || Number.isNaN(y)) {
    return Number.isNaN(x) - Number.isNaN(y) || a.localeCompare(b);
  }
  return x - y;
};
for (const table of all('.scroll > table')) {
  const body = table.tBodies[0];
  const headings = [...table.tHead.rows[0].cells];
  if (body.rows.length < 3) continue;
  headings.forEach((heading, column) => {
    if (heading.querySelector('a')) return;
    const button = make('button', { type: 'button' }, ...heading.childNodes);
    heading.append(button);
    button.onclick = () => {
      const up = heading.getAttribute('aria-sort') !== 'ascending';
      headings.forEach(other => other.removeAttribute('aria-sort'));
      heading.setAttribute('aria-sort', up ? 'ascending' : 'descending');
      const rows = [...body.rows].sort(by(column));
      body.append(...(up ? rows : rows.reverse()));
    };
  });
  if (body.rows.length < 15) continue;
  const input = make('input', { type: 'search' });
  input.oninput = () => {
    const wanted = input.value.toLowerCase();
    for (const row of body.rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
  };
  table.parentElement.before(make('label', { className: 'filter' }, 'Rows with: ', input));
}

// Arms can be hidden: their rows or columns in tables, their marks in figures.
const setHidden = (mark, hidden) => {
  const heading = mark.closest('th');
  if (heading?.scope === 'row') {
    heading.parentElement.hidden = hidden;
  } else if (heading) {
    for (const row of heading.closest('table').rows) row.cells[heading.cellIndex]?.toggleAttribute('hidden', hidden);
  } else {
    (mark.closest('li') ?? mark).toggleAttribute('hidden', hidden);
  }
};
const names = new Map(all('span[data-arm]').map(span => [span.dataset.arm, span.textContent.trim()]));
if (names.size > 2) {
  const boxes = [...names].sort(([a], [b]) => a - b).map(([arm, name]) => {
    const box = make('input', { type: 'checkbox', checked: true });
    box.onchange = () => {
      for (const mark of all(`main [data-arm="${arm}"]`)) setHidden(mark, !box.checked);
    };
    return make('label', {}, box, ` ${name}`);
  });
  const group = make('div', {}, ...boxes);
  group.setAttribute('role', 'group');
  group.setAttribute('aria-label', 'What is shown');
  const details = make('details', { className: 'arms' }, make('summary', {}, 'Show or hide'), group);
  document.querySelector('main').prepend(details);
}

// All that is folded opens at once, e.g. to be printed or searched.
const folds = all('details.fold');
if (folds.length > 3) {
  const label = () => folds.some(fold => !fold.open) ? 'Open all' : 'Close all';
  const button = make('button', { type: 'button', className: 'folds' }, label());
  button.onclick = () => {
    const open = folds.some(fold => !fold.open);
    for (const fold of folds) fold.open = open;
  };
  for (const fold of folds) fold.addEventListener('toggle', () => { button.textContent = label(); });
  document.querySelector('main').before(button);
}

// The values of a figure's marks, by pointer, touch and two buttons. Without the script they are
// tooltips.
const NEAR = 24;
const distance = (mark, x, y) => {
  const box = mark.getBoundingClientRect();
  const beyond = (low, at, high) => Math.max(low - at, 0, at - high);
  return Math.hypot(beyond(box.left, x, box.right), beyond(box.top, y, box.bottom));
};
for (const svg of all('figure > svg')) {
  const marks = all('title', svg).map(title => title.parentElement);
  if (marks.length === 0) continue;
  const readout = make('output', {});
  const step = (words, sign, by) => {
    const button = make('button', { type: 'button', ariaLabel: words }, sign);
    button.onclick = () => {
      let next = chosen < 0 && by < 0 ? 0 : chosen;
      do next = (next + by + marks.length) % marks.length;
      while (marks[next].closest('[hidden]') && next !== chosen);
      choose(next);
    };
    return button;
  };
  const buttons = [step('previous value', '‹', -1), step('next value', '›', 1)];
  svg.after(make('div', { className: 'readout' }, ...buttons, readout));
  let chosen = -1;
  const choose = index => {
    marks[chosen]?.classList.remove('chosen');
    chosen = index;
    marks[chosen]?.classList.add('chosen');
    readout.textContent = marks[chosen]?.querySelector('title').textContent ?? '';
  };
  const point = event => {
    const hit = marks.findIndex(mark => mark.contains(event.target));
    if (hit >= 0) return choose(hit);
    const far = marks.map(mark => mark.tagName === 'path' ? Infinity : distance(mark, event.clientX, event.clientY));
    const nearest = far.indexOf(Math.min(...far));
    if (far[nearest] < NEAR) choose(nearest);
  };
  svg.addEventListener('pointermove', point);
  svg.addEventListener('pointerdown', point);
}
