// The palette (Ctrl K): sessions, pages, files and commands, filtered while typing. keys.js loads it on first use.
import { $, $$, byId, parse } from './dom.js';

const most = 8; // entries of a group
let dialog;
let groups = [];
let shown = [];
let at = 0;

const link = (a, text) => ({
  text: (text ?? a.textContent).trim().replace(/\s+/g, ' '),
  run: () => location.assign(a.href),
});
const press = (text, selector, hint = '') => {
  const b = $(selector);
  return b && b.checkVisibility?.({ visibilityProperty: true }) !== false ? [{ text, hint, run: () => b.click() }] : [];
};
const command = (text, selector, hint = '') => {
  // includes closed menus, but not what the viewer's rights hide
  const b = $(selector);
  const hides = b?.closest('.owner-only') && !document.body.classList.contains('may-own');
  return b && !hides ? [{ text, hint, run: () => b.click() }] : [];
};

function collect() {
  return [
    [
      'Sessions',
      $$('.rail-item[data-session]').map((a) => ({
        ...link(a, $('.title', a).textContent),
        hint: $('.status', a)?.textContent.trim() || '',
      })),
    ],
    ['This session', $$('.tabs[aria-label=Session] a[data-go]').map((a) => ({ ...link(a), hint: a.dataset.go || '' }))],
    [
      'Files',
      $$('#tree li[data-path] a')
        .map((a) => ({ text: a.closest('li').dataset.path, run: () => a.click() }))
        .concat($$('.filelist a[data-path]').map((a) => link(a, a.dataset.path))),
    ],
    [
      'Commands',
      [
        ...press('New session', 'a[href="/new"]'),
        { text: 'Inbox', hint: 'g h', run: () => location.assign('/') },
        ...command('Automations', 'a[href="/automations"]'),
        ...command('Settings', 'a[href="/settings"]'),
        ...command('Notification settings', 'a[href="/settings/notifications"]'),
        ...press('Switch theme', '.rail-end button[name=theme]'),
        ...command('Share session', 'a[href$="/share"]'),
        ...command('Archive session', 'button[name=archived][value=yes]'),
        ...command('Unarchive session', 'button[name=archived][value=no]'),
        ...command('Mute notifications', 'button[name=muted][value=yes]'),
        ...press('Commit…', '#commit-open'),
        ...press('Switch to split view', '.seg a[title^=Split]:not([aria-current])', 'm'),
        ...press('Switch to unified view', '.seg a[title^=Unified]:not([aria-current])', 'm'),
        { text: 'Keyboard shortcuts', hint: '?', run: () => $('#help')?.showModal() },
      ],
    ],
  ];
}

function draw() {
  const q = $('#palette-q').value.trim().toLowerCase();
  shown = [];
  const list = $('#palette-list');
  list.replaceChildren();
  for (const [name, items] of groups) {
    const found = items.filter((i) => i.text.toLowerCase().includes(q)).slice(0, most);
    if (!found.length) continue;
    const head = document.createElement('h3');
    head.textContent = name;
    list.append(head);
    for (const item of found) {
      const row = document.createElement('div');
      row.id = `palette-${shown.length}`;
      row.className = 'palette-row';
      row.setAttribute('role', 'option');
      row.append(
        Object.assign(document.createElement('span'), { className: 'cut grow', textContent: item.text }),
        Object.assign(document.createElement('span'), { className: 'dim', textContent: item.hint || '' }),
      );
      row.addEventListener('click', () => choose(item));
      list.append(row);
      shown.push(item);
    }
  }
  if (!shown.length)
    list.append(
      Object.assign(document.createElement('p'), { className: 'dim palette-none', textContent: 'No results' }),
    );
  mark(0);
}

function mark(i) {
  byId(`palette-${at}`)?.setAttribute('aria-selected', 'false');
  at = shown.length ? (i + shown.length) % shown.length : 0;
  const row = byId(`palette-${at}`);
  row?.setAttribute('aria-selected', 'true');
  row?.scrollIntoView({ block: 'nearest' });
  row
    ? $('#palette-q').setAttribute('aria-activedescendant', row.id)
    : $('#palette-q').removeAttribute('aria-activedescendant');
}

function choose(item) {
  dialog.close();
  item?.run();
}

function make() {
  dialog = document.createElement('dialog');
  dialog.id = 'palette';
  dialog.setAttribute('aria-label', 'Command palette');
  dialog.append(
    parse(
      '<input id="palette-q" class="field" type="text" role="combobox" aria-expanded="true" aria-controls="palette-list" aria-label="Go to a session, file or command" placeholder="Go to a session, file or command" autocomplete="off" spellcheck="false"><div id="palette-list" class="palette" role="listbox" aria-label="Results"></div>',
    ),
  );
  document.body.append(dialog);
  dialog.addEventListener('input', draw);
  dialog.addEventListener('keydown', (e) => {
    if (e.isComposing) return;
    const steps = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (!steps && e.key !== 'Enter' && e.key !== 'Escape') return;
    e.preventDefault();
    e.stopPropagation();
    if (steps) mark(at + steps);
    else if (e.key === 'Enter') {
      if (shown.length) choose(shown[at]);
    } else dialog.close();
  });
  dialog.addEventListener('click', (e) => {
    if (e.target === dialog) dialog.close();
  }); // a click outside
}

export function open() {
  if (!dialog) make();
  if (dialog.open) return;
  groups = collect();
  $('#palette-q').value = '';
  dialog.showModal();
  draw();
  $('#palette-q').focus();
}
