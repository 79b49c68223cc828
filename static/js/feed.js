// The bookkeeping of the live feed, without the page, so that tests can run it.

// takeBatch takes the patches for one frame from a queue: at least one, and no more HTML than the page can lay out
// while keys and scrolling keep working; all of them if no frames are drawn.
const atOnce = 8000; // characters of HTML
const size = (p) => (typeof p.at(-1) === 'string' ? p.at(-1).length : 0) + 40;
export function takeBatch(queue, all) {
  let n = 0;
  let sum = 0;
  while (n < queue.length && (n === 0 || all || sum + size(queue[n]) <= atOnce)) sum += size(queue[n++]);
  return queue.splice(0, n);
}

// makeMarks tracks the newest frame of each room: "changes:ab12~f0.7~99" is frame 99 of feed 7 of
// the server's run f0.
export function makeMarks(list) {
  const marks = new Map();
  const set = (mark) => marks.set(mark.split('~')[0], mark);
  for (const mark of list) set(mark);
  return {
    list: () => [...marks.values()],
    // advance records frame n of a feed; when a room has a new feed, mark names it.
    advance(feed, n, mark) {
      for (const [room, m] of marks)
        if (m.endsWith(`.${feed}`, m.lastIndexOf('~'))) marks.set(room, m.slice(0, m.lastIndexOf('~') + 1) + n);
      if (mark) set(mark);
    },
  };
}

// retryDelay returns the delay before attempt n in ms: exponential, with jitter.
export const retryDelay = (n, random = Math.random()) => Math.min(200 * 2 ** n, 5000) * (0.75 + random / 2);
