// Sign-in and join links carry their token behind the #, which browsers never send. It goes into the form here, and out
// of the address before anybody can copy it from there.
'use strict';
(() => {
  const field = document.querySelector('input[name=token]');
  const token = location.hash.slice(1);
  if (!field || !token) return;
  history.replaceState(null, '', location.pathname + location.search);
  field.value = token;
  const line = field.closest('[data-token-line]');
  if (line) line.hidden = true;
  const form = field.form;
  if (form.dataset.send === 'now') form.requestSubmit();
  const look = form.querySelector('[data-look]');
  if (look) {
    fetch(form.action, { method: 'POST', body: new URLSearchParams({ token, look: '1' }) })
      .then((r) => (r.ok ? r.text() : ''))
      .then((text) => { if (text) look.textContent = text; }, () => {}); // joining itself says what is wrong
  }
})();
