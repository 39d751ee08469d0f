import { render } from 'preact'
import '../look/pohf.css'
import './console.css'
import { Frame } from './frame.tsx'
import { WebhooksPage } from './webhooks/page.tsx'

/** The pages of the console, in the order of the menu. A further page is one more line here. */
const pages = [{ path: 'webhooks', name: 'Webhooks', View: WebhooksPage }] as const

const root = document.getElementById('app')
const issuer = document.querySelector<HTMLMetaElement>('meta[name="pohf-issuer"]')?.content
if (root && issuer !== undefined) {
  root.replaceChildren()
  render(<Frame pages={pages} issuer={issuer} />, root)
}
