// Sending from the composer. A sent message leaves the field, with its text, files and mentions. Messages are sent
// one after the other. A failed one is restored: into the field if that is empty, above it otherwise.
import { makeOutbox, unsent, withTyped } from './compose.js';
import { $, $$, parse, post, store, storedData, toast } from './dom.js';
import { scrollToEnd } from './patch.js';

const field = $('#message');
const form = field?.form;
const files = $('#attach');
if (form?.dataset.stay === 'clear') compose();

// newKey returns a unique key for a message; crypto.randomUUID is missing on plain http.
const newKey = () =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, '0')).join('');

function compose() {
  const key = `unsent:${location.pathname}`;
  const patience = 400; // ms until a message is shown as being sent
  let failed = [];
  const noFiles = () => new DataTransfer().files;
  const changed = () => field.dispatchEvent(new Event('input', { bubbles: true }));
  const isEmpty = () => !field.value.trim() && !files.files.length;
  // A reload keeps the texts; files cannot be stored.
  const remember = () => {
    const left = [...failed, ...waiting].map((m) => ({ text: m.text, id: m.body.get('key') }));
    store(key, left.length ? JSON.stringify(left) : '');
  };

  form.addEventListener('submit', (e) => {
    if ('keep' in (e.submitter?.dataset || {})) return; // Stop does not send the message
    e.preventDefault();
    const body = new FormData(form, e.submitter);
    body.set('key', newKey()); // if it is sent twice, it is added once
    $('#send-menu')?.removeAttribute('open');
    send({
      to: form.action,
      body,
      text: field.value,
      caret: [field.selectionStart, field.selectionEnd],
      files: files.files,
      mentions: [...form.querySelectorAll('input[name=file]')].map((h) => h.value),
    });
    clear();
  });
  function clear() {
    files.files = noFiles();
    files.dispatchEvent(new Event('replaced'));
    field.value = '';
    changed();
    form.dispatchEvent(new CustomEvent('cleared'));
    document.dispatchEvent(new CustomEvent('sent'));
    scrollToEnd();
  }
  const outbox = makeOutbox({
    // a small message is sent even if the page is left
    post: (m) => post(m.to, m.body, { keepalive: !m.files.length && m.text.length < 8000 }),
    giveBack,
    changed: show,
  });
  const { waiting } = outbox;
  function send(m) {
    m.since = Date.now();
    setTimeout(show, patience);
    outbox.send(m);
  }
  function giveBack(list, wrong) {
    toast(wrong, true);
    if (isEmpty() && !failed.length) putBack(list.shift());
    failed.push(...list);
  }
  function putBack(m) {
    const all = new DataTransfer();
    for (const f of [...m.files, ...files.files]) all.items.add(f);
    files.files = all.files;
    files.dispatchEvent(new Event('replaced'));
    for (const v of m.mentions)
      form.append(Object.assign(document.createElement('input'), { type: 'hidden', name: 'file', value: v }));
    field.value = withTyped(m.text, field.value);
    if (m.caret) field.setSelectionRange(...m.caret);
    changed();
  }

  // ---- unsent messages, and slow ones: one row each ---------------------------------------------------------------
  function show() {
    remember();
    const late = waiting.filter((m) => Date.now() - m.since >= patience);
    const focused = $('#unsent')?.contains(document.activeElement);
    $('#unsent')?.remove();
    if (focused) field.focus();
    if (!failed.length && !late.length) return;
    const box = parse('<ul id="unsent" role="list" aria-label="Messages not sent"></ul>').firstChild;
    for (const m of [...failed, ...late]) {
      const row = parse(
        '<li class="queued row wrap"><span class="badge"></span><span class="grow cut"></span></li>',
      ).firstChild;
      const [badge, text] = row.children;
      const n = m.files.length;
      badge.textContent = late.includes(m) ? 'Sending…' : 'Not sent';
      text.textContent = m.text.trim() + (n ? ` · ${n === 1 ? '1 file' : `${n} files`}` : '');
      if (failed.includes(m)) {
        badge.classList.add('need');
        row.append(
          parse(
            '<button type="button" class="btn small" data-do="again">Send again</button><button type="button" class="btn small" data-do="edit">Edit</button><button type="button" class="btn quiet small" data-do="discard" aria-label="Discard message">×</button>',
          ),
        );
      }
      row.addEventListener('click', (e) => {
        const what = e.target.dataset.do;
        if (!what) return;
        failed = failed.filter((x) => x !== m);
        if (what === 'again') send(m);
        if (what === 'edit') putBack(m);
        show();
      });
      box.append(row);
    }
    form.before(box);
  }

  // The page was left during a request: messages that it now shows have arrived.
  const left = storedData(key) || [];
  const arrived = [...$$('#turns .said .text'), ...$$('#queue textarea')].map((el) => el.textContent);
  failed = unsent(left, arrived).map(({ text, id }) => {
    const body = new FormData();
    body.set('text', text);
    body.set('how', 'queue');
    body.set('key', id);
    return { to: form.action, body, text, files: noFiles(), mentions: [] };
  });
  if (failed.length && isEmpty()) putBack(failed.shift());
  if (left.length) show();
}
