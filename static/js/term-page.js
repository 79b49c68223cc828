// The page around the terminals' frames: who has control, tabs after a patch, the list of commands, settings.
import { $, $$, setCurrent, store, storedData, toast } from './dom.js';
import { onPatch } from './patch.js';

const panes = () => $$('.termpane');
const frameOf = (el) =>
  el.closest('.termpane')?.querySelector('.termframe')?.contentDocument?.getElementById('term')?.frame;
// A phone's keyboard shrinks the page instead of covering the keys.
const view = $('meta[name=viewport]');
view.content += ', interactive-widget=resizes-content';

// Differences between viewers are a class of the pane, around the shared HTML.
addEventListener('terminal', (e) => {
  const { frame, mine, held, asked, gone } = e.detail;
  const pane = frame?.closest('.termpane');
  if (!pane) return;
  pane.className = `termpane is-${gone ? 'over' : mine ? 'mine' : held || 'free'}${asked ? ` asked-${asked}` : ''}`;
});
const shown = new Set(panes().map((p) => p.dataset.terminal));
function mark() {
  for (const t of $$('.termtab')) setCurrent(t, shown.has(t.dataset.terminal) && 'true');
}
onPatch((list) => {
  if (list.some((p) => p[1] === 'terminals')) mark();
});
$('.termtab[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });

// ---- commands ------------------------------------------------------------------------------------------------------
function fold(a) {
  const on = a.closest('.termpane').toggleAttribute('data-commands');
  a.setAttribute('aria-expanded', on);
  document.cookie = `commands=${on ? 'on' : 'off'};path=/;max-age=31536000;samesite=lax`;
}
const does = {
  find: (f) => f?.find(),
  previous: (f) => f?.jump(-1),
  next: (f) => f?.jump(1),
  commands: (_, a) => fold(a),
};
async function copy(a) {
  try {
    const r = await fetch(a.href);
    if (!r.ok) throw new Error(await r.text());
    await navigator.clipboard.writeText(await r.text());
    toast('Output copied');
  } catch {
    location.assign(a.href);
  } // no clipboard: open the text as a page
}
document.addEventListener('click', (e) => {
  const tool = e.target.closest?.('[data-term]');
  const jump = e.target.closest?.('[data-jump]');
  const text = e.target.closest?.('[data-copy]');
  const size = e.target.closest?.('[data-term-font]');
  if (tool && !e.ctrlKey && !e.metaKey) {
    e.preventDefault();
    does[tool.dataset.term]?.(frameOf(tool), tool);
  }
  if (jump) frameOf(jump)?.jump(0, jump.dataset.jump);
  if (text && !e.ctrlKey && !e.metaKey) {
    e.preventDefault();
    copy(text);
  }
  if (size) set({ font: Math.min(Math.max(own.font + +size.dataset.termFont, 8), 32) });
});

// ---- settings: stored by the browser, passed on to the frames -----------------------------------------------------
const own = {
  font: matchMedia('(pointer: coarse)').matches ? 12 : 13,
  chord: 'Ctrl+Alt+.',
  reader: false,
  clip: false,
};
Object.assign(own, storedData('terminal', true));
function draw() {
  $('#term-font').textContent = own.font;
  $('#term-chord').value = own.chord;
  $('#term-reader').checked = own.reader;
  $('#term-clip').checked = own.clip;
}
function set(change) {
  Object.assign(own, change);
  if (!store('terminal', JSON.stringify(own), true)) toast("This browser can't store settings.", true);
  draw();
}
draw();
$('#term-reader').addEventListener('change', (e) => set({ reader: e.target.checked }));
$('#term-clip').addEventListener('change', (e) => set({ clip: e.target.checked }));
$('#term-chord').addEventListener('keydown', (e) => {
  if (e.key === 'Tab' || ['Control', 'Alt', 'Shift', 'Meta'].includes(e.key)) return;
  e.preventDefault();
  e.stopPropagation();
  if (e.key === 'Escape') {
    e.target.blur();
    return;
  }
  if (!(e.ctrlKey || e.metaKey) || !(e.altKey || e.shiftKey)) {
    toast('Use Ctrl with Alt or Shift and a key. Other combinations belong to the shell.', true);
    return;
  }
  set({
    chord: [
      e.ctrlKey && 'Ctrl',
      e.altKey && 'Alt',
      e.shiftKey && 'Shift',
      e.metaKey && 'Meta',
      e.key.length === 1 ? e.key.toUpperCase() : e.key,
    ]
      .filter(Boolean)
      .join('+'),
  });
});

// Enter on a tab focuses its terminal if it is already shown.
document.addEventListener('keydown', (e) => {
  const tab = e.target.closest?.('.termtab[aria-current]');
  if (e.key !== 'Enter' || !tab) return;
  e.preventDefault();
  $(`.termpane[data-terminal="${CSS.escape(tab.dataset.terminal)}"] .termframe`)
    ?.contentDocument?.getElementById('term')
    ?.xterm?.focus();
});
