// Puts the page together: heading, theme, the sections of this kind of report, and the way
// between them.

const pageTitles = {
  run: 'Prediction', compare: 'Comparison', whatif: 'What if', search: 'Search',
  realrun: 'Real run', validate: 'Validation', serve: 'Serving', serve_compare: 'Serving',
  profile: 'Profile',
};

/// Kinds of pages that plait compare reads.
const comparable = new Set(['run', 'compare']);

/// Sections by a shorter name, for the bar at the top.
const shortNames = {
  answer: 'Answer', breakdown: 'Time', sensitivity: 'Sensitivity', mesh: 'Ranks', machine: 'Machine',
  scenario: 'Scenario',
};

const sectionsOf = {
  run: () => [runAnswer(), timelineSection(), memorySection('/result'), breakdownSection('/result'),
              sensitivitySection('/result'), meshSection('/result'), machineSection('/result'),
              collectivesSection('/result'), scenarioSection('/result')],
  compare: () => [compareAnswer(), compareTable(), compareDifferences(), compareMemory(), timelineSection(), scenarioSection()],
  whatif: () => [whatifAnswer(), whatifSection(), whatifTable(), scenarioSection()],
  search: () => [searchAnswer(), searchSection(), scenarioSection()],
  realrun: () => [realrunAnswer(), timelineSection(), realrunSteps(), realrunClasses(), realrunMemory(), scenarioSection()],
  serve: () => [serveAnswer(), serveCourse(), serveLatency(), servePools(), serveSteps(), serveMemory(), machineSection('/result'), scenarioSection('/result')],
  serve_compare: () => [serveCompareAnswer(), serveCompareSection(), serveCompareTable(), scenarioSection()],
  profile: () => [profileAnswer(), profileShares(), profileKinds(), profileMessages(), profileKernels(), timelineSection(), scenarioSection()],
  validate: () => [validateAnswer(), validateSection(), validateSources(), scenarioSection()],
};

/// Light or dark: as chosen, else as the system says; paper is always light.
const theme = {
  chosen: null,
  apply() {
    const dark = matchMedia('(prefers-color-scheme: dark)').matches;
    const printing = matchMedia('print').matches || this.printing;
    document.documentElement.dataset.theme = printing ? 'light' : this.chosen ?? (dark ? 'dark' : 'light');
    document.dispatchEvent(new Event('themechange'));
  },
  start() {
    try { this.chosen = localStorage.getItem('plait-theme'); } catch { /* not from this place */ }
    for (const query of ['(prefers-color-scheme: dark)', 'print']) {
      matchMedia(query).addEventListener('change', () => this.apply());
    }
    let opened = [];
    addEventListener('beforeprint', () => {
      this.printing = true;
      opened = [...document.querySelectorAll('details:not([open])')].filter(d => !d.querySelector('pre') && !d.closest('#timeline'));  // too long for paper
      for (const d of opened) d.open = true;
      this.apply();
    });
    addEventListener('afterprint', () => {
      this.printing = false;
      for (const d of opened) d.open = false;
      this.apply();
    });
    this.apply();
  },
  toggle() {
    this.chosen = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
    try { localStorage.setItem('plait-theme', this.chosen); } catch { /* stays for this visit */ }
    this.apply();
  },
};

function fillHeader() {
  const r = doc.result;
  const switchTheme = el('button', {type: 'button', id: 'theme'});
  const name = () => {
    switchTheme.textContent = document.documentElement.dataset.theme === 'dark' ? 'Light' : 'Dark';
    switchTheme.setAttribute('aria-label', `Switch to ${switchTheme.textContent.toLowerCase()} colours`);
  };
  switchTheme.addEventListener('click', () => theme.toggle());
  document.addEventListener('themechange', name);
  name();
  const subtitle = [r.model && r.cluster ? `${r.model} on ${r.cluster}` : r.model, r.layout,
                    r.placement && r.placement !== 'in order' ? 'placement: ' + r.placement : null];
  document.getElementById('top').append(
    el('div', {class: 'names'}, el('p', {class: 'kicker'}, 'Plait · ' + pageTitles[doc.kind]),
       el('h1', {}, doc.title), subtitle.filter(Boolean).map(line => el('p', {class: 'soft'}, line))),
    el('div', {class: 'controls'}, switchTheme,
       el('button', {type: 'button', on: {click: () => print()}}, 'Print')));
}

function fillContents(sections) {
  const links = sections.map(s => el('a', {href: '#' + s.id}, shortNames[s.id] ?? s.querySelector('h2').textContent));
  document.getElementById('contents').append(el('ul', {}, links.map(link => el('li', {}, link))));
  const watcher = new IntersectionObserver(entries => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const link of links) link.setAttribute('aria-current', String(link.hash === '#' + entry.target.id));
    }
  }, {rootMargin: '-20% 0px -70% 0px'});
  for (const s of sections) watcher.observe(s);
}

function start() {
  theme.start();
  fillHeader();
  const sections = sectionsOf[doc.kind]().filter(Boolean);
  document.getElementById('content').append(...sections);
  fillContents(sections);
  document.getElementById('bottom').append(
    `plait ${doc.version}. This page is one file: it loads nothing and sends nothing.` +
    (comparable.has(doc.kind) ? ' plait compare reads it back.' : ''));
  addEventListener('keydown', e => { if (e.key === 'Escape') tip.hide(); });
}
