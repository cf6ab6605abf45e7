// Returns what is wrong with the layout of the page, in words.
(() => {
  const problems = [];
  const report = (what, element) => {
    const text = (element.textContent || element.getAttribute('aria-label') || '').trim();
    problems.push(`${what}: <${element.tagName}> ${text.slice(0, 60)}`);
  };
  const width = document.documentElement.clientWidth;
  const isScreen = matchMedia('screen').matches;
  if (document.documentElement.scrollWidth > width) {
    problems.push(`the page is ${document.documentElement.scrollWidth} wide on ${width}`);
  }
  // On a phone wide tables scroll; a desktop has room.
  for (const box of document.querySelectorAll('.scroll')) {
    const beyond = box.scrollWidth - box.clientWidth;
    if (isScreen && width >= 1400 && beyond > 1) report(`scrolls by ${beyond} px on a desktop`, box);
  }
  for (const element of document.querySelectorAll('body *')) {
    const box = element.getBoundingClientRect();
    const style = getComputedStyle(element);
    if (box.width === 0 || style.visibility === 'hidden') continue;
    const scrolls = isScreen && element.closest('.scroll, pre');
    const isSkipLink = element.classList.contains('skip');
    if (!scrolls && !isSkipLink && (box.right > width + 1 || box.left < -1)) report('outside the page', element);
    const clips = style.overflowX === 'hidden' || style.overflowX === 'clip';
    if (clips && !(element instanceof SVGElement) && element.scrollWidth > element.clientWidth + 1) report('cut', element);
    const hasText = [...element.childNodes].some(child => child.nodeType === 3 && child.data.trim());
    const scale = element instanceof SVGGraphicsElement ? element.getScreenCTM().a : 1;
    const size = parseFloat(style.fontSize) * scale;
    if (isScreen && hasText && element.tagName !== 'title' && size < 10) report(`text of ${size.toFixed(1)} px`, element);
  }
  for (const svg of document.querySelectorAll('figure > svg')) {
    const frame = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll('text')].filter(text => text.textContent.trim());
    const boxes = texts.map(text => text.getBoundingClientRect());
    boxes.forEach((one, i) => {
      if (one.right > frame.right + 2 || one.left < frame.left - 2) report('outside its figure', texts[i]);
      boxes.slice(i + 1).forEach((other, j) => {
        const across = Math.min(one.right, other.right) - Math.max(one.left, other.left);
        const down = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
        if (across > 1 && down > 3) report(`over "${texts[i + 1 + j].textContent}"`, texts[i]);
      });
    });
  }
  return problems;
})()
