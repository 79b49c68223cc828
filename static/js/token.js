// Sign-in and join links carry their token behind the #, which browsers never send. It goes into the form here, and out
// of the address before anybody can copy it from there.
'use strict';
(() => {
  // Where one signs in first, no name is asked for: the account has one.
  const first = (form) => {
    form.querySelector('[data-anonymous]')?.remove();
    const go = form.querySelector('[data-go-on]');
    go.textContent = go.dataset.goOn;
  };
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
      .then((r) => {
        if (r.headers.get('Sign-In')) first(form);
        return r.ok ? r.text() : '';
      })
      .then((text) => { if (text) look.textContent = text; }, () => {}); // joining itself says what is wrong
  }
})();
