import { render } from 'preact'
import '../shared/design/pohf.css'
import '../shared/shell/console.css'
import '../shared/shell/orders.css'
import '../shared/shell/drawer.css'
import '../shared/shell/lists.css'
import './operator.css'
import { Frame, type ConsolePage, type PageProps } from '../shared/shell/frame.tsx'
import { lazy } from '../shared/shell/lazy.tsx'
import { OperatorIdentity } from './identity.tsx'
import { OperatorSignIn } from './sign-in/sign-in.tsx'

/** The operators' pages, in the order of the menu. The code of a page is loaded when it is first opened. */
const pages: readonly ConsolePage[] = [
  {
    path: 'overview',
    name: 'Overview',
    View: lazy<PageProps>(async () => (await import('./overview/page.tsx')).OverviewPage),
  },
  {
    path: 'agents',
    name: 'Agents',
    View: lazy<PageProps>(async () => (await import('./agents/page.tsx')).AgentsPage),
  },
  {
    path: 'payouts',
    name: 'Payouts',
    group: 'Decisions',
    View: lazy<PageProps>(async () => (await import('./payouts/page.tsx')).PayoutsPage),
  },
  {
    path: 'appeals',
    name: 'Appeals',
    group: 'Decisions',
    View: lazy<PageProps>(async () => (await import('./appeals/page.tsx')).AppealsPage),
  },
  {
    path: 'reviews',
    name: 'Reviews',
    group: 'Decisions',
    View: lazy<PageProps>(async () => (await import('./reviews/page.tsx')).ReviewsPage),
  },
  {
    path: 'orders',
    name: 'Orders',
    group: 'Decisions',
    View: lazy<PageProps>(async () => (await import('./offers/page.tsx')).OffersPage),
  },
  {
    path: 'refunds',
    name: 'Card refunds',
    group: 'Decisions',
    View: lazy<PageProps>(async () => (await import('./refunds/page.tsx')).RefundsPage),
  },
  {
    path: 'purchases',
    name: 'Purchases',
    group: 'Decisions',
    View: lazy<PageProps>(async () => (await import('./purchases/page.tsx')).OperatorPurchasesPage),
  },
  {
    path: 'forwards',
    name: 'Forwards',
    group: 'Decisions',
    View: lazy<PageProps>(async () => (await import('./forwards/page.tsx')).ForwardsPage),
  },
  {
    path: 'workflows',
    name: 'Workflows',
    group: 'Service',
    View: lazy<PageProps>(async () => (await import('./workflows/page.tsx')).WorkflowsPage),
  },
  {
    path: 'keys',
    name: 'Signing keys',
    group: 'Service',
    View: lazy<PageProps>(async () => (await import('./keys/page.tsx')).KeysPage),
  },
  {
    path: 'roots',
    name: 'Limits and roots',
    group: 'Service',
    View: lazy<PageProps>(async () => (await import('./roots/page.tsx')).RootsPage),
  },
  {
    path: 'trust',
    name: 'Trust',
    group: 'Service',
    View: lazy<PageProps>(async () => (await import('./trust/page.tsx')).TrustPage),
  },
  {
    path: 'audit',
    name: 'Audit log',
    group: 'Service',
    View: lazy<PageProps>(async () => (await import('./audit/page.tsx')).AuditPageView),
  },
  {
    path: 'access',
    name: 'My access',
    group: 'Service',
    View: lazy<PageProps>(async () => (await import('./access/page.tsx')).AccessPage),
  },
]

const root = document.getElementById('app')
const issuer = document.querySelector<HTMLMetaElement>('meta[name="pohf-issuer"]')?.content
if (root && issuer !== undefined) {
  root.replaceChildren()
  render(
    <Frame
      pages={pages}
      issuer={issuer}
      name="Operators"
      SignIn={OperatorSignIn}
      Identity={OperatorIdentity}
    />,
    root,
  )
}
