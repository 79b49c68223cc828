// Requests for approval, in a chat or the inbox: Deny opens a field for a reason, Enter there
// denies, and Esc closes it.
document.addEventListener(
  'toggle',
  (e) => {
    if (e.target.matches?.('details.deny') && e.target.open) e.target.querySelector('[name=reason]').focus();
  },
  true,
);
document.addEventListener('keydown', (e) => {
  const deny = e.target.matches?.('.deny [name=reason]') && e.target.closest('.deny');
  if (!deny || e.isComposing) return;
  if (e.key === 'Enter') {
    e.preventDefault();
    deny.querySelector('button').click();
  }
  if (e.key === 'Escape') {
    e.preventDefault();
    deny.open = false;
    deny.querySelector('summary').focus();
  }
});
