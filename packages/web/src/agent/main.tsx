import { render } from 'preact'
import '../shared/design/pohf.css'
import '../shared/shell/console.css'
import '../shared/shell/orders.css'
import '../shared/shell/drawer.css'
import type { SignInOptions } from '../shared/shell/sign-in.tsx'
import { Frame } from '../shared/shell/frame.tsx'
import { OrdersPage } from './orders/page.tsx'
import { PurchasesPage } from './purchases/page.tsx'
import { WebhooksPage } from './webhooks/page.tsx'

/** The pages of the console, in the order of the menu. A further page is one more line here. */
const pages = [
  { path: 'orders', name: 'Orders', View: OrdersPage },
  { path: 'purchases', name: 'Purchases', View: PurchasesPage },
  { path: 'webhooks', name: 'Webhooks', View: WebhooksPage },
] as const

const signIn: SignInOptions = {
  name: 'Console',
  heading: 'Which agent are you?',
  lead: 'Paste an API key. It stays in the memory of this tab: it is not stored, and a reload deletes it. The pages call only the public API, with this key.',
  label: 'API key',
  placeholder: 'svc_test_…',
  pattern: /^svc_(test|live)_[A-Za-z0-9]{10,80}$/,
  invalidKeyMessage: 'A key begins with svc_test_ or svc_live_. Paste it whole.',
  button: 'Open the console',
  noKey: {
    text: 'This command creates a free test key:',
    label: 'Command for a test key',
    commands: `curl -s ${location.origin}/api/agents/register \\
  --json '{"name":"me","mode":"test",
    "contactEmail":"me@example.com"}'`,
  },
}

const root = document.getElementById('app')
const issuer = document.querySelector<HTMLMetaElement>('meta[name="pohf-issuer"]')?.content
if (root && issuer !== undefined) {
  root.replaceChildren()
  render(<Frame pages={pages} issuer={issuer} signIn={signIn} home="/" />, root)
}
