import type { PlantedFault, TestSetup } from './tag-faults.ts'
import type { PlantedPage } from './tag-site.ts'

const lineOf = (w: TestSetup, attributes = '') =>
  `<script async src="${w.service.url}/visit.js" ${attributes}></script>`

/** A landing page without a fault: one line, and no check. */
export const landingPage = (w: TestSetup, attributes?: string): PlantedPage => ({
  head: lineOf(w, attributes),
})

const withHeader = (name: string, value: (w: TestSetup) => string) => (w: TestSetup) => ({
  ...landingPage(w),
  headers: { 'x-frame-options': 'DENY', [name]: value(w) },
})

/** Landing pages, each with a fault of visit.js. */
export const visitFaults: readonly PlantedFault[] = [
  [
    'a policy that blocks the script',
    withHeader('content-security-policy', () => "script-src 'self'"),
    [/✗ script: The Content Security Policy of the page blocks .*visit\.js/],
  ],
  [
    'a policy that blocks the script and its beacons',
    withHeader('content-security-policy', () => "default-src 'self'"),
    [
      /✗ script: The Content Security Policy of the page blocks .*visit\.js/,
      /✗ visit: The Content Security Policy of the page blocks beacons/,
    ],
  ],
  [
    'a policy that blocks beacons',
    withHeader('content-security-policy', (w) => `script-src ${w.service.url}; connect-src 'self'`),
    [/✗ visit: The Content Security Policy of the page blocks beacons/],
  ],
  [
    'a policy that gives the token to other origins',
    withHeader('referrer-policy', () => 'no-referrer-when-downgrade'),
    [/✗ referrer: The referrer policy of the page is "no-referrer-when-downgrade"/],
  ],
  [
    'the same by an element of the page',
    (w) => ({ head: `<meta name="referrer" content="unsafe-url">${lineOf(w)}` }),
    [/✗ referrer: The referrer policy of the page is "unsafe-url"/],
  ],
  [
    'an unknown word for consent',
    (w) => landingPage(w, 'data-consent="yes"'),
    [/✗ consent: data-consent is "yes"/],
  ],
  [
    'a service that is none',
    (w) => landingPage(w, `data-base-url="${w.site.url}"`),
    [/✗ service: The address that the script calls does not deliver our scripts/, /✗ visit: /],
  ],
  [
    'an address that is none',
    (w) => landingPage(w, 'data-base-url="shop"'),
    [/✗ visit: data-base-url is not an address: "shop"/],
  ],
  ['a module', (w) => landingPage(w, 'type="module"'), [/✗ script tag: The script is loaded as a module/]],
]
