import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { createClient } from '../../sdk/src/index.ts'
import { pollUntil } from '../../server/test/fixtures/polling.ts'
import { answerUntil, inState, listen } from './fixture.ts'
import { runVisits, startCheck, visit, type VisitContext } from './visits.ts'

const clientOf = ({ fixture, apiKey }: VisitContext) => createClient({ baseUrl: fixture.service.url, apiKey })

type Answer = { readonly type: string; readonly body: string }
const page = (head: string, body: string): Answer => ({
  type: 'text/html',
  body: `<!doctype html><html lang="en"><head><title>A page</title>${head}</head><body>${body}</body></html>`,
})
const script = (body: string): Answer => ({ type: 'text/javascript', body })

/** A site with a few addresses and a policy without inline scripts. */
const openPages = (serviceUrl: string, answer: (path: string, form: URLSearchParams) => Promise<Answer>) => {
  const policy = `default-src 'none'; script-src 'self' ${serviceUrl}; connect-src ${serviceUrl}; form-action 'self'`
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = `${request.method} ${(request.url ?? '').split('?')[0]}`
    const { type, body } = await answer(path, new URLSearchParams(await text(request)))
    response.writeHead(200, { 'content-type': type, 'content-security-policy': policy }).end(body)
  }
  return listen((request, response) => void serve(request, response))
}

/** The publisher: its page asks for the check, its server for the credential, and its link carries the view token. */
const openPublisher = (visited: VisitContext, landingUrl: string) =>
  openPages(visited.fixture.service.url, async (path, form) => {
    if (path === 'GET /publisher.js')
      return script(
        `document.addEventListener('pohf-done', ({ detail }) => {
          document.querySelector('#vt').value = detail.vt
        })`,
      )
    if (path === 'POST /read') {
      const { credentialId } = await clientOf(visited).credentials.verify({
        sessionId: form.get('pohf-session') ?? '',
      })
      return page(
        '',
        `<p id="credential">${credentialId}</p><a href="${landingUrl}/offer?pohf_vt=${form.get('vt')}">Offer</a>`,
      )
    }
    return page(
      `<script src="/publisher.js"></script><script async src="${visited.fixture.service.url}/check.js"></script>`,
      `<form method="post" action="/read"><input type="hidden" id="vt" name="vt"><pohf-check site="${visited.agentId}" required></pohf-check><button id="send">Read</button></form>`,
    )
  })

/** The shop: one line on the landing page, and a conversion that its server reports. */
const openLanding = (visited: VisitContext) =>
  openPages(visited.fixture.service.url, async (path, form) => {
    if (path === 'GET /shop.js')
      return script(
        `document.addEventListener('pohf-visit', () => {
          document.querySelector('#vt').value = pohf.viewToken() ?? ''
        })`,
      )
    if (path === 'POST /buy') {
      const { attributed } = await clientOf(visited).tracking.conversion(
        { vt: form.get('vt') ?? '', name: 'purchase', value: 19.9, currency: 'EUR' },
        { idempotencyKey: 'order-1' },
      )
      return page('', `<p id="bought">${attributed ? 'attributed' : 'not attributed'}</p>`)
    }
    return page(
      `<script src="/shop.js"></script><script async src="${visited.fixture.service.url}/visit.js"></script>`,
      '<form method="post" action="/buy"><input type="hidden" id="vt" name="vt"><button id="buy">Buy</button></form>',
    )
  })

visit(
  'from a verified view on one origin to a conversion on another, all in one funnel',
  {},
  async (visited) => {
    const { page: tab, fixture } = visited
    const shop = await openLanding(visited)
    // Another site, not only another port.
    const landingUrl = shop.url.replace('127.0.0.1', 'localhost')
    const publisher = await openPublisher(visited, landingUrl)
    const client = clientOf(visited)
    try {
      await tab.goto(publisher.url)
      await inState(tab, 'idle').waitFor()
      await startCheck(tab)
      await answerUntil(tab, fixture, 'passed')
      await tab.click('#send')
      const credentialId = await tab.textContent('#credential')
      assert.match(credentialId ?? '', /^crd_/)
      assert.equal((await client.tracking.funnel()).landed, 0)

      await tab.click('text=Offer')
      await tab.waitForURL(`${landingUrl}/offer`)
      await pollUntil('the visit landed', async () => (await client.tracking.funnel()).landed === 1)
      await tab.click('#buy')
      assert.equal(await tab.textContent('#bought'), 'attributed')

      // The click on the button engaged the page, and the navigation after it took the page away: sent by sendBeacon.
      await pollUntil('the engagement arrives', async () => (await client.tracking.funnel()).engaged === 1)
      const { views, landed, engaged, conversions, rates, value } = await client.tracking.funnel()
      assert.deepEqual([views, landed, engaged, conversions], [1, 1, 1, 1])
      assert.equal(rates.conversion, 1)
      assert.deepEqual(value, { EUR: 19.9 })
      const { rows } = await client.tracking.metrics()
      assert.deepEqual(
        rows.map((row) => row.credentialId),
        [credentialId],
      )
      const { pages } = await client.tracking.attention()
      assert.deepEqual(pages, [{ path: '/offer', landed: 1, engaged: 1 }])
    } finally {
      publisher.close()
      shop.close()
    }
  },
)

runVisits()
