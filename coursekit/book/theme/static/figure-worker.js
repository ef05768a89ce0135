/* A figure that moves, in a worker: it steps as long as it may, and hands a picture to the page a few times a second. */
"use strict";
let picture, state, dials, every, on = false, last = 0;
function show() {
  last = performance.now();
  postMessage({ svg: picture.draw(state, dials), words: picture.words(state, dials), step: state.step, mean: state.mean });
}
function turn() {
  if (!on) return;
  const begin = performance.now();
  while (performance.now() - begin < 40) picture.step(state, dials);
  if (performance.now() - last > every) show();
  setTimeout(turn, 0);
}
onmessage = ({ data }) => {
  if (data.file) {
    importScripts(new URL("pictures.js", location.href).href, data.file);
    picture = pictures[data.picture];
    every = data.every;
  }
  dials = data.dials ?? dials;
  if (data.file || data.fresh) state = picture.start(liveFigures[data.name], dials, chance(data.seed ?? 1));
  const was = on;
  on = data.on ?? on;
  if (data.dials || was && !on) show();
  if (on && !was) turn();
};
