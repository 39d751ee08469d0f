import { createHash } from 'node:crypto'
import { startFixture } from '../../tag/test/fixture.ts'
import { launchChromium } from '../src/site/tag/browser.ts'
import { openSite, type PlantedPage } from './tag-site.ts'

/** The service with two agents, one of which lists its origins, a site of a publisher, and a browser. */
export const start = async () => {
  const fixture = await startFixture()
  const site = await openSite()
  const browser = await launchChromium()
  const agent = await fixture.harness.register()
  const closed = await fixture.harness.register()
  await fixture.harness.call('PATCH', '/api/agents/me', {
    key: closed.apiKey,
    body: { allowedOrigins: ['https://shop.example'] },
  })
  const check = await (await fetch(`${fixture.service.url}/check.js`)).text()
  const hash = `sha256-${createHash('sha256').update(check).digest('base64')}`
  return { ...fixture, site, browser, agent, closed, check, hash }
}
export type TestSetup = Awaited<ReturnType<typeof start>>

/** A page without a fault, in which a case changes one thing. */
export const goodPage = (
  w: TestSetup,
  change: { script?: string; element?: string; around?: string } = {},
): PlantedPage => ({
  head: change.script ?? `<script async src="${w.service.url}/check.js"></script>`,
  body: (change.around ?? '<form method="post">CHECK<button>Send</button></form>').replace(
    'CHECK',
    change.element ?? `<pohf-check site="${w.agent.agentId}" challenge="NONCE" required></pohf-check>`,
  ),
})

export type PlantedFault = readonly [
  name: string,
  page: (w: TestSetup) => PlantedPage,
  expected: readonly RegExp[],
]

const elementOf = (w: TestSetup, attributes: string) =>
  `<pohf-check site="${w.agent.agentId}" ${attributes}></pohf-check>`
const complete = 'challenge="NONCE" required'
const scriptOf = (w: TestSetup, attributes: string, origin = w.service.url) =>
  `<script src="${origin}/check.js" ${attributes}></script>`
const withPolicy = (policy: (w: TestSetup) => string) => (w: TestSetup) => ({
  ...goodPage(w),
  headers: { 'content-security-policy': policy(w) },
})
/** A page with a script that the site delivers itself. */
const withCopy = (folder: string, attributes: string) => (w: TestSetup) =>
  goodPage(w, {
    script: scriptOf(w, attributes, `${w.site.url}/${folder}`),
    element: elementOf(w, `base-url="${w.service.url}" ${complete}`),
  })

/** Each page has faults that no other page has; ✗ marks a problem, ! a warning. */
export const scriptFaults: readonly PlantedFault[] = [
  ['no script', (w) => goodPage(w, { script: '' }), [/✗ script: The page loads no script of ours/]],
  [
    'the script of another product',
    (w) => ({
      ...goodPage(w, {
        script: '<script src="https://www.google.com/recaptcha/api.js"></script>',
        element: '<div class="g-recaptcha" data-sitekey="6LeIxAcTAAAAAJcZ"></div>',
      }),
      // The policy keeps the browser from loading it: tests use no network.
      headers: { 'content-security-policy': "script-src 'self'" },
    }),
    [
      /✗ script: The page loads the script of another product, https:\/\/www\.google\.com/,
      /✗ site: "6LeIxAcTAAAAAJcZ" is not the id of an agent/,
    ],
  ],
  [
    'a wrong address of the script',
    (w) => goodPage(w, { script: `<script async src="${w.service.url}/js/check.js"></script>` }),
    [/✗ script: The address .* does not deliver a script/, /✗ element: No script has made/],
  ],
  [
    'script-src',
    withPolicy(() => "script-src 'self'"),
    [/✗ script: The Content Security Policy of the page blocks/, /! frames: Every site may show/],
  ],
  [
    'connect-src',
    withPolicy((w) => `script-src ${w.service.url}; connect-src 'self'`),
    [/✗ connection: The Content Security Policy of the page blocks calls/],
  ],
  [
    'a copy of the script without the address of the service',
    (w) => goodPage(w, { script: scriptOf(w, 'async', `${w.site.url}/copy`) }),
    [/✗ service: The address that the script calls does not deliver our scripts: status 404/],
  ],
  [
    'an old copy of the script, served as text, that the page waits for',
    withCopy('old', ''),
    [
      /✗ bytes: The script .* differs/,
      /! script: The script has the media type "text\/plain"/,
      /! script tag: The page waits/,
    ],
  ],
  ['a current copy', withCopy('copy', 'async'), [/✓ bytes: The script is the one/]],
  [
    'a module, and a second script',
    (w) =>
      goodPage(w, {
        script: `${scriptOf(w, 'type="module"')}<script async src="${w.service.url}/tag.js"></script>`,
      }),
    [/✗ script tag: The script is loaded as a module/, /! script: The page loads more than one script/],
  ],
  [
    'the collector alone',
    (w) => goodPage(w, { script: `<script async src="${w.service.url}/tag.js"></script>`, element: '' }),
    [/✓ element: The page has no check, and its scripts need none/],
  ],
  [
    'an error in our script',
    (w) =>
      goodPage(w, {
        script: `<script>customElements.define = () => { throw new Error('no') }</script>${scriptOf(w, 'async')}`,
      }),
    [/✗ console: The console has an error about our script: no/],
  ],
  [
    'a service worker, a replaced fetch, a language that the check does not have, a hash',
    (w) => ({
      html: `<!doctype html><html lang="fr"><title>A</title><script>
        navigator.serviceWorker.register('/worker.js')
        const before = fetch
        window.fetch = (...all) => before(...all)
      </script>${scriptOf(w, `async crossorigin integrity="${w.hash}"`)}${goodPage(w).body}</html>`,
    }),
    [
      /✗ service worker: A service worker of the page delivers our script/,
      /! fetch: A script of the page replaces/,
      /! language: The page is in "fr", and the check is shown in "en"/,
      /! script tag: The script tag has an integrity attribute/,
    ],
  ],
]

const otherSite = (site: string) => `<pohf-check site="${site}" ${complete}></pohf-check>`

export const elementFaults: readonly PlantedFault[] = [
  ['no element', (w) => goodPage(w, { element: '' }), [/✗ element: The page has no <pohf-check>/]],
  [
    'ten checks, each with a fault of its own, in a page without a language',
    (w) => ({
      html: `<!doctype html><title>A shop</title>${goodPage(w).head}
        <form>${elementOf(w, `kind="look" ${complete}`)}</form>
        <form><pohf-check ${complete}></pohf-check></form>
        <form>${otherSite('YOUR_AGENT_ID')}</form>
        <form>${elementOf(w, 'challenge="always" required')}</form>
        <form>${elementOf(w, 'required disabled')}</form>
        <form>${elementOf(w, `challenge="${'x'.repeat(129)}"`)}</form>
        <form hidden>${elementOf(w, complete)}</form>
        <form style="width: 200px">${elementOf(w, complete)}</form>
        <form style="width: 60vw">${elementOf(w, complete)}</form>
        ${elementOf(w, `base-url="service" ${complete}`)}`,
    }),
    [
      /! language: The page names no language/,
      /✗ element: Check 1: kind is "look"/,
      /✗ site: Check 2: The check names no site/,
      /✗ site: Check 3: "YOUR_AGENT_ID" is not the id of an agent/,
      /✗ challenge: Check 4: The challenge was the same/,
      /! challenge: Check 5: The check has no challenge/,
      /! element: Check 5: The check is disabled/,
      /✗ challenge: Check 6: The challenge is longer/,
      /! required: Check 6: The form can be sent without/,
      /! size: Check 7: The check cannot be seen/,
      /! size: Check 8: The check is 200 px wide\./,
      /! size: Check 9: The check is 216 px wide on a screen of 360 px/,
      /✗ element: Check 10: base-url is not an address/,
      /! form: Check 10: The check is in no form/,
    ],
  ],
  [
    'two checks in a form, a field of their name in another, sites of nobody and of others',
    (w) =>
      goodPage(w, {
        around: 'CHECK',
        element: `<form>${otherSite(`${w.agent.agentId.slice(0, -4)}zzzz`)}${otherSite(w.closed.agentId)}</form>
          <form><input name="mine">${elementOf(w, `name="mine" ${complete}`)}</form>`,
      }),
    [
      /✗ form: Check 1: The form has more than one field "pohf-session"/,
      /✗ form: Check 3: The form has more than one field "mine"/,
      /✗ site: Check 1: The service does not know this site/,
      /✗ site: Check 2: The origin of the page is not in the allowed origins/,
    ],
  ],
  [
    'frames',
    (w) => {
      w.site.plant('/inner', { ...goodPage(w), headers: {} })
      return {
        body: '<iframe src="/inner"></iframe><iframe src="/inner" sandbox="allow-scripts"></iframe>',
      }
    },
    [/! frames: The check is in a frame of http/, /! frames: The check is in a frame of a sandbox/],
  ],
  [
    'a page that is not there',
    () => ({ status: 404, body: 'Not here' }),
    [/✗ page: The page answers with status 404/],
  ],
  [
    'another host',
    (w) => ({ status: 302, headers: { location: `http://localhost:${w.site.port}/good` } }),
    [/! page: The page redirects to another host, http:\/\/localhost/],
  ],
]

export const plantScripts = (w: TestSetup): void => {
  const script = (path: string, body: string, type = 'text/javascript; charset=utf-8') =>
    w.site.plant(path, {
      answer: (_, response) => response.writeHead(200, { 'content-type': type }).end(body),
    })
  script('/copy/check.js', w.check)
  script('/old/check.js', `${w.check}\n// an old one`, 'text/plain')
  script(
    '/worker.js',
    `addEventListener('install', () => skipWaiting())
     addEventListener('activate', (event) => event.waitUntil(clients.claim()))
     addEventListener('fetch', (event) => event.respondWith(fetch(event.request)))`,
  )
}
