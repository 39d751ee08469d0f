import { render } from 'preact'
import '../shared/design/pohf.css'
import '../shared/shell/console.css'
import '../shared/shell/orders.css'
import '../shared/shell/drawer.css'
import './operator.css'
import type { SignInOptions } from '../shared/shell/sign-in.tsx'
import { Frame } from '../shared/shell/frame.tsx'
import { AppealsPage } from './appeals/page.tsx'
import { OffersPage } from './offers/page.tsx'
import { WorkflowsPage } from './workflows/page.tsx'

/** The operators' pages, in the order of the menu: what waits for a decision comes first. */
const pages = [
  { path: 'appeals', name: 'Appeals', View: AppealsPage },
  { path: 'orders', name: 'Orders', View: OffersPage },
  { path: 'workflows', name: 'Workflows', View: WorkflowsPage },
] as const

const signIn: SignInOptions = {
  name: 'Operators',
  heading: 'Which operator are you?',
  lead: 'Paste your operator key. It stays in the memory of this tab: it is not stored, and a reload deletes it. The audit log records everything that you do here under your name.',
  label: 'Operator key',
  placeholder: 'svc_op_…',
  pattern: /^svc_op_[A-Za-z0-9]{10,80}$/,
  invalidKeyMessage: 'An operator key begins with svc_op_. Paste it whole.',
  button: 'Open the operators’ pages',
  noKey: {
    text: 'Create an operator on the machine that runs the service:',
    label: 'Command for an operator key',
    commands: 'npx pohf operator create NAME',
  },
}

const root = document.getElementById('app')
const issuer = document.querySelector<HTMLMetaElement>('meta[name="pohf-issuer"]')?.content
if (root && issuer !== undefined) {
  root.replaceChildren()
  render(<Frame pages={pages} issuer={issuer} signIn={signIn} />, root)
}
