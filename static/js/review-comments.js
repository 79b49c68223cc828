// Comments of a review: their boxes below lines, autosaved drafts, suggestions, and the other small forms of
// threads and operations. It builds on review.js.
import { $, $$, byId, may, parse, toast } from './dom.js';
import { keys } from './keys.js';
import { onPatch } from './patch.js';
import {
  code,
  currentRow,
  fail,
  fileOf,
  filter,
  first,
  fold,
  go,
  hooks,
  nowFile,
  nowThread,
  root,
  rowAt,
  rowFor,
  send,
  under,
  unselect,
  whereIs,
} from './review.js';

const place = (form, row, file) => {
  if (row) under(row).after(form);
  else if (file) $('.file-body', file).prepend(form);
};
const offerSuggestion = (form) => {
  const b = $('.suggest', form);
  if (b) b.hidden = !form.dataset.at?.startsWith('R');
};
const openForm = (file, at) => {
  if (!file || !may('comment')) return;
  const key = file.dataset.file;
  const old = $(`.comment-form[data-file="${key}"][data-at="${at}"]`, root);
  if (old) {
    const shut = $('.edit:not([open])', old);
    if (shut) shut.open = true;
    $('textarea', old).focus();
    return;
  }
  const form = $('#comment-form').content.firstElementChild.cloneNode(true);
  form.dataset.file = key;
  form.dataset.at = at;
  form.elements.file.value = key;
  form.elements.at.value = at;
  $('textarea', form).id = `cf-${key}${at}`;
  $('.where', form).textContent = at ? words(at) : 'Whole file';
  offerSuggestion(form);
  fold(file, false);
  place(form, rowFor(file, at), file);
  hooks.focused = $('textarea', form);
  hooks.focused.focus({ preventScroll: true });
  form.scrollIntoView({ block: 'nearest' });
};
// A field that was opened gets the focus, clear of the bar.
root.addEventListener('click', (e) => {
  const box = e.target.closest('summary')?.parentElement;
  if (box?.matches('.edit, .new-branch') && !box.open)
    requestAnimationFrame(() => {
      const field = $('textarea, input:not([type=hidden])', box);
      field?.focus({ preventScroll: true });
      field?.form.scrollIntoView({ block: 'nearest' });
    });
});
const words = (at) =>
  (at.includes('-') ? 'Lines ' : 'Line ') +
  at.replace('-', '–').replaceAll(/[LR]/g, '') +
  (at.startsWith('L') ? ' (before)' : '');
const comment = (hooks.comment = () => {
  if (!currentRow()) go(first());
  const row = currentRow();
  if (row) {
    openForm(fileOf(row), whereIs());
    unselect();
  }
});
const suggest = (form) => {
  // insert the current lines, for editing
  const [a, b] = form.dataset.at.slice(1).split('-R').map(Number);
  const text = form.elements.text;
  const lines = [];
  for (let n = a; n <= (b || a); n++) {
    const row = rowAt(fileOf(form), 'R', n);
    if (!row) return toast('Expand all of these lines first.', true);
    lines.push(code(row));
  }
  let marks = '```';
  while (lines.some((l) => l.includes(marks))) marks += '`';
  const was = text.value.replace(/\s+$/, '');
  const start = was ? was.length + 2 : 0;
  const fence = `${marks}suggestion\n`;
  text.value = `${(was ? `${was}\n\n` : '') + fence + lines.join('\n')}\n${marks}\n`;
  text.focus();
  text.setSelectionRange(start + fence.length, start + fence.length + lines.join('\n').length);
  autosave(form);
};

// ---- drafts are saved automatically ----
// A draft gets its id here, and each save a number, so that the server can ignore a late save: after a
// newer one, or after the draft ended.
const timers = new WeakMap();
const hex = (n) => [...crypto.getRandomValues(new Uint8Array(n))].map((b) => b.toString(16).padStart(2, '0')).join('');
const page = hex(8);
let saves = 0;
const newID = () => {
  const t = Date.now().toString(16).padStart(12, '0');
  const r = hex(9);
  return `${t.slice(0, 8)}-${t.slice(8)}-7${r.slice(0, 3)}-8${r.slice(3, 6)}-${r.slice(6)}`;
};
const bodyOf = (form, what) => {
  form.elements.draft.value ||= newID();
  const body = new FormData(form);
  body.set('do', what);
  body.set('page', page);
  body.set('n', ++saves);
  return body;
};
const autosave = (form) => {
  clearTimeout(timers.get(form));
  timers.set(
    form,
    setTimeout(
      () =>
        save(form).catch(() => {
          $('.saved', form).textContent = 'Not saved: no connection';
        }),
      700,
    ),
  );
};
const still = (form) => {
  // stops the autosave timer
  clearTimeout(timers.get(form));
  timers.delete(form);
};
// save saves a draft; if shown, the server's rendering replaces it, unless the text has changed since.
const save = async (form, shown) => {
  still(form);
  const text = form.elements.text.value;
  if (!text.trim()) return drop(form);
  form.saving = (form.saving || 0) + 1;
  try {
    const body = bodyOf(form, 'save');
    if (shown) body.set('show', 'yes');
    const res = await send(form.action, body, text.length < 15000);
    if (res.headers.has('Draft-Gone') && form.isConnected) {
      form.elements.draft.value = '';
      autosave(form);
    } // it ended on another page, but its text is still edited here
    if (!res.headers.has('Draft-Id')) return;
    form.classList.add('draft');
    $('.saved', form).textContent = 'Saved';
    showCount(res.headers);
    const box = res.status === 200 && parse(await res.text()).firstElementChild;
    if (!box || form.elements.text.value !== text) return;
    offerSuggestion(box);
    form.replaceWith(box);
  } finally {
    form.saving--;
  }
};
const drop = async (form) => {
  // text typed next is a new draft
  still(form);
  if (!form.elements.draft.value) return;
  const body = bodyOf(form, 'discard');
  form.elements.draft.value = '';
  form.classList.remove('draft');
  $('.saved', form).textContent = '';
  showCount((await send(form.action, body, true)).headers);
};
const showCount = (h) => {
  if (h.has('Draft-Count') && $('#draftcount')) {
    $('#draftcount').dataset.n = h.get('Draft-Count');
    relabel();
  }
};
const relabel = () => {
  // the bar: this person's drafts, and the shared counts
  const d = $('#draftcount');
  const shared = $('#review-counts')?.dataset;
  if (!d || !shared) return;
  const mine = +d.dataset.n;
  const n = mine + +shared.unsent;
  d.textContent = mine ? `(${mine})` : '';
  $('#finish-note').textContent = mine ? `Publishes ${mine} pending comment${mine === 1 ? '' : 's'}.` : '';
  if (!$('#send-note')) return;
  $('#send-note').textContent = `${n || 'no'} open comment${n === 1 ? '' : 's'}`;
  $('#send-how').hidden = shared.running !== 'true';
};
onPatch((list) => {
  if (list.some((p) => p[1] === 'review-counts')) relabel();
});
const closeForm = (form) => {
  const row = rowFor(fileOf(form), form.dataset.at);
  form.remove();
  hooks.focused = null;
  if (row) go(row);
};
const discard = async (form) => {
  const file = fileOf(form);
  const row = rowFor(file, form.dataset.at);
  closeForm(form);
  try {
    await drop(form);
  } catch (err) {
    place(form, row, file);
    fail(err);
  }
};
const publish = async (form) => {
  still(form);
  const body = bodyOf(form, 'comment');
  const back = take(form);
  form.elements.draft.value = '';
  form.classList.remove('draft');
  try {
    showCount((await send(form.action, body)).headers);
    if (!form.elements.text.value && form.isConnected) closeForm(form);
  } catch (err) {
    back();
    form.elements.draft.value ||= body.get('draft');
    fail(err);
  }
};
const submit = (form, button) => {
  const what = button?.value || 'save';
  if (what === 'discard') return discard(form);
  if (what === 'comment') return publish(form);
  const row = rowFor(fileOf(form), form.dataset.at);
  $('textarea', form).blur();
  if (row) go(row);
  return save(form, true).catch(fail);
};

// ---- other small forms: reply, edit, resolve, operations ----
// take empties the text field of a sent form and returns a function that restores it: before text typed since, and
// if a patch replaced the field, into its successor.
const take = (form) => {
  const old = form.elements.text;
  const { value, selectionStart, selectionEnd } = old;
  old.value = '';
  return () => {
    const now = old.isConnected ? old : byId(old.id);
    const typed = now?.value;
    if (!now) return;
    now.value = typed ? `${value}\n\n${typed}` : value;
    if (!typed) now.setSelectionRange(selectionStart, selectionEnd);
  };
};
const post = async (form, button) => {
  const body = new FormData(form);
  const thread = form.closest('.thr');
  const d = form.closest('details.edit');
  if (button?.name) body.set(button.name, button.value);
  const back = form.matches('.reply') ? take(form) : null;
  try {
    const res = await send(button?.hasAttribute('formaction') ? button.formAction : form.action, body);
    if (res.status === 200) done(await res.text(), form, button, body);
    const box = d && byId(d.id);
    if (box && $('textarea', box).value === body.get('text')) box.open = false; // unless the text has changed since
    if (button?.matches('.resolve, .reopen') && document.activeElement === button) $('summary', thread).focus();
  } catch (err) {
    back?.();
    fail(err);
  }
};
const done = (said, form, button, body) => {
  // an operation's answer; the result of a thread's form arrives as a live patch
  toast(said);
  const menu = button?.closest('.file-menu');
  if (menu) menu.open = false;
  const box = 'close' in form.dataset && byId(form.closest('[popover]').id); // a patch may have replaced it
  const now = box && $$('form', box).find((f) => f.elements.op.value === body.get('op'));
  if (!now || [...new FormData(now)].some(([k, v]) => v !== body.get(k))) return;
  box.hidePopover();
  now.reset();
};
// A dialog that is replaced while it is open stays open.
let dialog = '';
root.addEventListener(
  'beforetoggle',
  (e) => {
    if (e.target.popover) dialog = e.newState === 'open' ? e.target.id : '';
  },
  true,
);
onPatch(() => {
  const box = dialog && byId(dialog);
  if (box && !box.matches(':popover-open')) box.showPopover();
});
const firstLine = (area) => {
  // the length of the first line of a commit message
  const n = [...area.value.split('\n', 1)[0]].length;
  const hint = $('#op-hint');
  hint.dataset.text ||= hint.textContent;
  hint.textContent = n > 72 ? `The summary has ${n} characters. Keep it under 72.` : hint.dataset.text;
  hint.classList.toggle('bad', n > 72);
};
onPatch((list) => {
  if (list.some((p) => p[1] === 'ops') && $('#op-message')?.value) firstLine($('#op-message'));
});
root.addEventListener('submit', (e) => {
  const form = e.target;
  if (e.submitter?.matches('.file-op')) {
    e.preventDefault();
    const b = e.submitter;
    const label = b.textContent;
    if (!('confirm' in b.dataset) || b.dataset.sure) return post(form, b);
    b.dataset.sure = '1';
    b.textContent = `Click again to ${label.charAt(0).toLowerCase()}${label.slice(1)}`;
    setTimeout(() => {
      delete b.dataset.sure;
      b.textContent = label;
    }, 4000);
    return;
  }
  if (form.matches('.comment-form')) {
    e.preventDefault();
    submit(form, e.submitter);
  } else if (form.closest('#sendbar')) {
    // save pending drafts first
    const unsaved = $$('.comment-form', root).filter((f) => timers.has(f) || f.saving);
    $('#files').inert = true; // text typed until the next page loads would be lost
    if (!unsaved.length) return;
    e.preventDefault();
    Promise.all(unsaved.map(save)).then(
      () => form.requestSubmit(e.submitter),
      (err) => {
        $('#files').inert = false;
        fail(err);
      },
    );
  } else if (form.hasAttribute('data-post')) {
    e.preventDefault();
    post(form, e.submitter);
  }
});
root.addEventListener('input', (e) => {
  if (e.target.id === 'op-message') firstLine(e.target);
  if (e.target.matches('textarea')) hooks.focused = e.target;
  const form = e.target.closest('.comment-form');
  if (form) autosave(form);
});
addEventListener('pagehide', () => {
  for (const form of $$('.comment-form', root)) {
    if ((timers.has(form) || form.saving) && form.elements.text.value.trim())
      navigator.sendBeacon(form.action, new URLSearchParams(bodyOf(form, 'save')));
  }
});
addEventListener('pageshow', () => {
  const files = $('#files');
  if (files) files.inert = false;
});
root.addEventListener('click', (e) => {
  const t = e.target;
  const c = t.closest('.cfile');
  if (t.closest('.suggest')?.form) return suggest(t.closest('form'));
  if (!c || e.metaKey || e.ctrlKey) return;
  e.preventDefault();
  openForm(fileOf(c), '');
});

// ---- keys ----
Object.assign(keys, {
  c: comment,
  C: () => openForm(nowFile(), ''),
  e: () => {
    const t = nowThread();
    const b = t && $$('.resolve, .reopen', t).find((x) => x.checkVisibility());
    if (b) b.form.requestSubmit(b);
  },
});
const typing = (el) => el?.matches?.('input, textarea, select, [contenteditable]');
document.addEventListener('keydown', (e) => {
  if (e.defaultPrevented || $('dialog[open]')) return;
  const el = e.target;
  const form = el.closest?.('form.comment-form, form[data-post], #verdict-form');
  if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) {
    if (e.shiftKey) {
      e.preventDefault();
      sendAll();
    } else if (form) {
      e.preventDefault();
      form.requestSubmit($('button.main', form) || undefined);
    }
    return;
  }
  if (e.key === 'Escape' && typing(el)) {
    el.blur();
    hooks.focused = null;
    if (el.id === 'filter') {
      el.value = '';
      filter('');
    }
    if (form?.matches('.comment-form') && !form.elements.text.value.trim()) discard(form);
    return;
  }
});
const sendAll = async () => {
  // submits all drafts, without a summary
  const f = byId('verdict-form');
  if (!f?.elements.send) return;
  try {
    await Promise.all($$('.comment-form', root).map((x) => x.elements.text.value.trim() && save(x)));
  } catch (err) {
    return fail(err);
  }
  if ($('#send-note').textContent.startsWith('no ')) return toast('No open comments to send');
  f.elements.kind.value = 'comment';
  f.elements.send.checked = true;
  f.requestSubmit($('button.main', f));
};

for (const f of $$('.comment-form', root)) offerSuggestion(f);
