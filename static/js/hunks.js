// Hunks and permalinks of a review: review marks by hunk, the buttons of the current hunk, moved
// blocks, permalinks that follow their lines, the whitespace menu. It builds on review.js.
import { $, $$, byId, may, parse, toast } from './dom.js';
import { keys } from './keys.js';
import { onPatch } from './patch.js';
import {
  currentRow,
  fail,
  fileOf,
  fold,
  gap,
  go,
  goFile,
  hidden,
  hooks,
  line,
  nextUnreviewed,
  nowFile,
  root,
  rowAt,
  select,
  send,
  settle,
  split,
  whereIs,
} from './review.js';

const byKey = (key) => byId(`file-${key}`);

// ---- hunks ----
const bars = (f) => $$('.h[data-k]', f);
const barOf = (row) => {
  // the last bar before the row, by binary search in a live collection
  const list = row ? fileOf(row).getElementsByClassName('h') : [];
  let lo = 0;
  let hi = list.length;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (list[mid].compareDocumentPosition(row) & Node.DOCUMENT_POSITION_FOLLOWING) lo = mid + 1;
    else hi = mid;
  }
  return list[lo - 1]?.dataset.k ? list[lo - 1] : null; // rows shown only for a thread belong to no hunk
};
const folded = (bar) => {
  const n = bar.nextElementSibling || bar.parentElement.nextElementSibling;
  return n?.matches('.reviewed-hunk') ? n : null;
};
const inside = (bar) => {
  // the rows up to the next bar, and whether they have threads
  const shut = folded(bar);
  const rows = [];
  let spoken = false;
  let n = bar.nextElementSibling;
  let ck = bar.parentElement;
  if (shut) return { rows: $$('.r', shut), spoken };
  for (;;) {
    for (; n; n = n.nextElementSibling) {
      if (n.matches('.h, .reviewed-hunk')) return { rows, spoken };
      if (n.matches('.r')) rows.push(n);
      else spoken = true;
    }
    for (ck = ck.nextElementSibling; ck && !ck.matches('.chunk, .reviewed-hunk, .scroll-x'); ck = ck.nextElementSibling)
      spoken = true;
    if (!ck?.matches('.chunk')) return { rows, spoken };
    n = ck.firstElementChild;
  }
};
const resize = (ck) => {
  // a chunk's class has its height
  if (!ck.firstElementChild) return ck.remove();
  const bars = $$('.h', ck).length;
  const empty = $$('.h.joined:not([data-h])', ck).length; // bars without height
  const n = Math.min(129, bars - empty + Math.ceil((ck.children.length - bars) / (split() ? 2 : 1)));
  ck.className = `chunk tens-${(n / 10) | 0} ones-${n % 10}`;
};
const shut = (bar, who) => {
  const { rows, spoken } = inside(bar);
  if (spoken || !rows.length) return;
  const count = (c) => rows.filter((r) => r.classList.contains(c)).length;
  const first = rows.find((r) => line(r, 'R'));
  const box = parse(
    '<details class="reviewed-hunk"><summary></summary><div class="chunk"></div></details>',
  ).firstElementChild;
  const chunks = new Set(rows.map((r) => r.parentElement));
  box.firstChild.textContent = `Reviewed${who ? ` by ${who}` : ''}: +${count('a')} −${count('d')}${first ? ` at line ${line(first, 'R')}` : ''}`;
  bar.after(box);
  box.lastChild.append(...rows);
  for (const ck of [...chunks, box.lastChild]) resize(ck);
};
const open = (bar) => {
  const box = folded(bar);
  if (!box) return;
  const within = box.parentElement.matches('.chunk');
  box.replaceWith(...$$(within ? '.chunk > *' : '.chunk', box));
  if (within) resize(bar.parentElement);
};
const marks = (f) =>
  new Map(
    ($('.file-head', f).dataset.done || '')
      .split('\n')
      .filter(Boolean)
      .map((s) => [s.slice(0, 8), s.slice(9)]),
  );
const isDone = (bar) => {
  const f = fileOf(bar);
  return f.hasAttribute('data-reviewed') || marks(f).has(bar.dataset.k);
};
const apply = (f) => {
  if (f.hasAttribute('data-reviewed')) return;
  const done = marks(f);
  for (const bar of bars(f)) {
    if (done.has(bar.dataset.k)) {
      if (!folded(bar)) shut(bar, done.get(bar.dataset.k));
    } else open(bar);
  }
  if (at && fileOf(at) === f) pressed();
};
hooks.headed = apply;
const note = (f, done) => {
  $('.file-head', f).dataset.done = [...done].map((e) => e.join(' ')).join('\n');
  apply(f);
};
const mark = async (bar, on) => {
  const f = fileOf(bar);
  const key = bar.dataset.k;
  const was = marks(f);
  if (!may('comment')) return;
  const done = new Map(was);
  if (f.hasAttribute('data-reviewed')) {
    for (const b of bars(f)) done.set(b.dataset.k, '');
    f.removeAttribute('data-reviewed');
    $('.file-mark', f).setAttribute('aria-pressed', 'false');
  }
  if (on) done.set(key, 'you');
  else done.delete(key);
  note(f, done);
  if (on && bars(f).every(isDone)) fold(f, true);
  const ask = new URLSearchParams({ file: f.dataset.file, hunk: key, reviewed: on });
  try {
    await send(`${root.dataset.base}/changes/reviewed?${root.dataset.query}&${ask}`, new FormData());
  } catch (err) {
    note(f, was);
    fail(err);
  }
};
const markAndNext = () => {
  const bar = barOf(currentRow());
  if (!bar) return nowFile() && bars(nowFile()).length ? keys.n() : keys.v();
  const f = fileOf(bar);
  if (isDone(bar)) return mark(bar, false);
  const list = bars(f);
  const i = list.indexOf(bar);
  const next = [...list.slice(i + 1), ...list.slice(0, i)].find((b) => !isDone(b));
  mark(bar, true);
  if (next)
    go(
      inside(next).rows.find((r) => r.matches('.a, .d')),
      'center',
    );
  else goFile(nextUnreviewed(f) || f);
};

// ---- the buttons of the current hunk ----
let at = null;
let tools = null;
const place = (rows) => {
  const list = rows.filter((r) => r.matches('.a, .d'));
  const side = list.some((r) => r.matches('.a')) ? 'R' : 'L';
  const near = (r, step) => {
    // use the adjacent line for removed lines
    for (let i = rows.indexOf(r); rows[i]; i += step) if (line(rows[i], side)) return side + line(rows[i], side);
  };
  if (!list.length) return '';
  const from = near(list[0], 1);
  const to = near(list[list.length - 1], -1);
  return from === to ? from : `${from}-${to}`;
};
const pressed = () => {
  // like the head of the file: a fully staged hunk cannot be staged again
  const b = $('.hunk-mark', at);
  const staged = $('.file-head .stg', fileOf(at));
  const whole = staged?.matches('.all');
  if (b) b.setAttribute('aria-pressed', String(isDone(at)));
  for (const form of at === tools?.parentElement ? $$('form', tools) : []) {
    const op = form.elements.op.value;
    form.hidden = staged ? whole && op !== 'unstage' && op !== 'revert' : op === 'unstage';
  }
};
const show = (bar) => {
  if (!bar || (bar === at && tools?.parentElement === bar) || ($('.hunk-tools', bar) && !tools?.isConnected)) return;
  tools ||= $('#hunk-tools')?.content.firstElementChild.cloneNode(true);
  if (!tools || $(':scope > .hunk-tools', bar)) return;
  at = bar;
  for (const form of $$('form', tools)) {
    form.elements.file.value = fileOf(bar).dataset.file;
    form.elements.at.value = place(inside(bar).rows);
  }
  bar.append(tools);
  pressed();
};
hooks.at = (row) => show(barOf(row));
root.addEventListener('mouseover', (e) => {
  const el = e.target.closest?.('.h[data-k], .r');
  if (el && !e.buttons) show(el.matches('.h') ? el : barOf(el));
});
root.addEventListener('focusin', (e) => {
  const h = e.target.closest('.h[data-k]');
  if (h) show(h);
});
onPatch((list) => {
  if (list.some((p) => p[1] === 'hunk-tools')) {
    tools?.remove();
    tools = at = null;
  }
});
root.addEventListener(
  'submit',
  (e) => {
    // confirm operations that are hard to undo
    const form = e.target;
    const b = form.matches('[data-confirm]') && $('button', form);
    if (!b || form.dataset.sure) return;
    e.preventDefault();
    e.stopImmediatePropagation();
    const label = b.textContent;
    form.dataset.sure = '1';
    b.textContent = `Click again to ${label.charAt(0).toLowerCase()}${label.slice(1)}`;
    setTimeout(() => {
      delete form.dataset.sure;
      b.textContent = label;
    }, 4000);
  },
  true,
);

// ---- permalinks ----
const versionOf = (f, side) => f?.dataset.v?.split(' ')[side === 'L' ? 0 : 1];
const hiddenLine = async (f, n) => {
  // opens the gap with a line of the new side
  const bar = $$('.h', f).find((h) => {
    const [a, b] = hidden(h);
    return a <= n && n <= b;
  });
  if (!bar) return;
  const [a, b] = hidden(bar);
  await (b - n < n - a ? gap(bar, Math.max(a, n - 3), b) : gap(bar, a, Math.min(b, n + 3)));
};
hooks.reveal = hiddenLine;
const land = async (f, where) => {
  const m = /^([LR])(\d+)(?:-[LR](\d+))?$/.exec(where);
  fold(f, false);
  if (!m) return goFile(f);
  const find = (n) => rowAt(f, m[1], +n);
  if (m[1] === 'R' && !find(m[2])) await hiddenLine(f, +m[2]).catch(() => {});
  const a = find(m[2]);
  const b = m[3] ? find(m[3]) : a;
  if (!a) return goFile(f);
  select(a, b || a);
  requestAnimationFrame(() => a.scrollIntoView({ block: 'center' }));
};
const arrive = async () => {
  if (location.hash === '#op-commit') return byId('op-commit')?.showPopover();
  const t = /^#thread-(.+)$/.exec(location.hash);
  const card = t && byId(`thread-${decodeURIComponent(t[1])}`);
  if (card) {
    if (fileOf(card)) fold(fileOf(card), false);
    card.open = true;
    card.scrollIntoView({ block: 'center' });
    return;
  }
  // a thread whose file is not among these changes
  if (t && !root.matches('.threads')) return location.replace(`${root.dataset.base}/threads?state=all${location.hash}`);
  const m = /^#f-([0-9a-f]+)([LR]\d+(?:-[LR]\d+)?)?(?:@([0-9a-f]+))?$/.exec(location.hash);
  if (!m) return;
  let f = byKey(m[1]);
  let where = m[2] || '';
  if (m[3] && where && versionOf(f, where[0]) !== m[3])
    try {
      // the file was edited since, or is not in this changeset
      const res = await send(
        `${root.dataset.base}/changes/place?${root.dataset.query}&file=${m[1]}&at=${where}&v=${m[3]}`,
      );
      const note = parse(await res.text()).firstElementChild;
      f = byKey(note?.dataset.file) || f;
      where = note ? note.dataset.at : where;
      if (note?.textContent) {
        $('.file-body > .was', f)?.remove();
        $('.file-body', f).prepend(note);
      }
    } catch (err) {
      fail(err);
    }
  if (f) land(f, where);
  else if (!m[3]) toast("This link's file isn't among these changes.");
};
const link = () => {
  // the current line, thread or file, with the shown version
  const cur = currentRow();
  const thread = document.activeElement?.closest('.thread');
  const f = cur ? fileOf(cur) : nowFile();
  if (thread) return `#${thread.id}`;
  if (!f) return '';
  const where = cur ? whereIs() : '';
  const v = where && versionOf(f, where[0]);
  return `#f-${f.dataset.file}${where}${v && v !== '-' ? `@${v}` : ''}`;
};
hooks.link = () => history.replaceState(null, '', link() || location.search);
addEventListener('hashchange', arrive);
root.addEventListener('keydown', (e) => {
  if (e.key === 'Enter' && e.target.id === 'filter') {
    // to the first match
    const li = $$('#tree li[id]').find((x) => !x.hidden);
    e.target.blur();
    if (li) goFile(byKey(li.id.slice(3)));
  }
});
Object.assign(keys, {
  f: () => byId('submit-review')?.showPopover(),
  V: markAndNext,
  y: () => {
    hooks.link();
    navigator.clipboard?.writeText(location.href).then(
      () => toast('Link copied'),
      () => toast('Copy the link from the address bar'),
    );
  },
  w: () => {
    const list = $$('#ws a');
    list[(list.findIndex((a) => a.hasAttribute('aria-current')) + 1) % list.length]?.click();
  },
});
root.addEventListener('click', (e) => {
  const b = e.target.closest('.hunk-mark');
  const a = e.target.closest('.mv');
  if (b) {
    e.preventDefault();
    const bar = b.closest('.h');
    mark(bar, !isDone(bar));
  }
  const m = a && !e.metaKey && !e.ctrlKey && /\/file\/([0-9a-f]+)\?.*#([LR]\d+)$/.exec(a.href);
  const f = m && byKey(m[1]);
  if (f) {
    e.preventDefault();
    land(f, m[2]);
  }
});
root.addEventListener('keydown', (e) => {
  const d = e.key === 'Escape' && e.target.closest('.menu[open]');
  if (d) {
    d.open = false;
    $('summary', d).focus();
  }
});

for (const d of $$('.file-body > .draft', root)) settle(d); // on lines that are not shown yet
arrive();
