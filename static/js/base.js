// The script of every page: forms without a reload, menus, and common behavior. It starts the live stream.
import { $, $$, byId, post, toast } from './dom.js';
import './keys.js';
import './live.js';
import './rail.js';
import { scrollToEnd } from './patch.js';

// A form with data-stay is sent without leaving the page: the stream updates the page. Without JavaScript, the
// same form answers 303 to the same page.
document.addEventListener('submit', async (e) => {
  const form = e.target;
  if (!form.matches('form[data-stay]') || e.defaultPrevented) return;
  e.preventDefault();
  const body = new FormData(form, e.submitter);
  const buttons = $$('button', form);
  for (const b of buttons) b.setAttribute('aria-disabled', 'true');
  const wrong = await post(
    e.submitter?.getAttribute('formaction') || form.action,
    form.enctype === 'multipart/form-data' ? body : new URLSearchParams(body),
  );
  if (wrong) toast(wrong, true);
  else form.closest('details.menu')?.removeAttribute('open');
  form.dispatchEvent(new CustomEvent(wrong ? 'refused' : 'sent', { bubbles: !wrong }));
  for (const b of buttons) b.removeAttribute('aria-disabled');
});
// A one-time token is in the fragment, which is never sent to a server: move it to the form and out of the address.
const now = $('form[data-send=now]');
if (now && location.hash.length > 1) {
  now.token.value = decodeURIComponent(location.hash.slice(1));
  history.replaceState(null, '', location.pathname + location.search);
  if (now.checkValidity()) now.requestSubmit();
}
// A textarea grows with its text; where CSS does that, the script does not measure on each key.
const grows = CSS.supports('field-sizing', 'content');
function fit(t) {
  if (grows) return;
  t.style.height = 'auto';
  t.style.height = `${Math.min(t.scrollHeight + 2, innerHeight * 0.4)}px`;
}
document.addEventListener('input', (e) => {
  if (e.target.matches('textarea[data-fit]')) fit(e.target);
});
for (const t of $$('textarea[data-fit]')) if (t.value) fit(t);

document.addEventListener('click', (e) => {
  const t = e.target;
  if (t.closest?.('[data-help]') && $('#help')) {
    e.preventDefault();
    $('#help').showModal();
  }
  const img = t.closest?.('a[data-image]');
  const from = byId(t.closest?.('[data-copy]')?.dataset.copy);
  if (from) {
    from.select();
    navigator.clipboard?.writeText(from.value).then(
      () => toast('Copied'),
      () => {},
    );
  } // if copying is refused, the text is selected
  if (img) {
    e.preventDefault();
    const i = new Image();
    i.src = img.href;
    i.alt = img.textContent;
    i.className = 'remote';
    i.referrerPolicy = 'no-referrer';
    img.replaceWith(i);
  }
  for (const m of $$('details.menu[open]')) if (!m.contains(t)) m.open = false;
  if (t.id === 'new-pill') scrollToEnd();
});
document.addEventListener('change', (e) => {
  if (e.target.matches?.('[data-submit]')) e.target.form.requestSubmit();
});
