import { render } from 'preact'
import '../shared/design/pohf.css'
import '../shared/shell/console.css'
import '../shared/shell/orders.css'
import '../shared/shell/drawer.css'
import '../shared/shell/lists.css'
import './pages.css'
import type { SignInOptions } from '../shared/shell/sign-in.tsx'
import { Frame, type ConsolePage, type PageProps, type SignInProps } from '../shared/shell/frame.tsx'
import { lazy } from '../shared/shell/lazy.tsx'
import { AgentIdentity } from './identity.tsx'
import { AccountSignIn, takeLinkToken } from './sign-in/account-sign-in.tsx'

/** The pages of the console, in the order of the menu. The code of a page is loaded when it is first opened. */
const pages: readonly ConsolePage[] = [
  {
    path: 'home',
    name: 'Home',
    View: lazy<PageProps>(async () => (await import('./home/page.tsx')).HomePage),
  },
  {
    path: 'install',
    name: 'Install',
    View: lazy<PageProps>(async () => (await import('./install/page.tsx')).InstallPage),
  },
  {
    path: 'credentials',
    name: 'Credentials',
    group: 'Evidence',
    View: lazy<PageProps>(async () => (await import('./credentials/page.tsx')).CredentialsPage),
  },
  {
    path: 'sessions',
    name: 'Sessions',
    group: 'Evidence',
    View: lazy<PageProps>(async () => (await import('./sessions/page.tsx')).SessionsPage),
  },
  {
    path: 'attention',
    name: 'Attention',
    group: 'Evidence',
    View: lazy<PageProps>(async () => (await import('./attention/page.tsx')).AttentionPage),
  },
  {
    path: 'funnel',
    name: 'Funnel',
    group: 'Evidence',
    View: lazy<PageProps>(async () => (await import('./funnel/page.tsx')).FunnelPage),
  },
  {
    path: 'members',
    name: 'Members',
    group: 'Evidence',
    View: lazy<PageProps>(async () => (await import('./members/page.tsx')).MembersPage),
  },
  {
    path: 'approvals',
    name: 'Approvals',
    group: 'Human work',
    View: lazy<PageProps>(async () => (await import('./approvals/page.tsx')).ApprovalsPage),
  },
  {
    path: 'orders',
    name: 'Orders',
    group: 'Human work',
    View: lazy<PageProps>(async () => (await import('./orders/page.tsx')).OrdersPage),
  },
  {
    path: 'purchases',
    name: 'Purchases',
    group: 'Human work',
    View: lazy<PageProps>(async () => (await import('./purchases/page.tsx')).PurchasesPage),
  },
  {
    path: 'tasks',
    name: 'Tasks',
    group: 'Human work',
    View: lazy<PageProps>(async () => (await import('./tasks/page.tsx')).TasksPage),
  },
  {
    path: 'webhooks',
    name: 'Webhooks',
    group: 'Developers',
    View: lazy<PageProps>(async () => (await import('./webhooks/page.tsx')).WebhooksPage),
  },
  {
    path: 'keys',
    name: 'Keys',
    group: 'Developers',
    View: lazy<PageProps>(async () => (await import('./keys/page.tsx')).KeysPage),
  },
  {
    path: 'requests',
    name: 'Requests',
    group: 'Developers',
    View: lazy<PageProps>(async () => (await import('./requests/page.tsx')).RequestsPage),
  },
  {
    path: 'usage',
    name: 'Usage and billing',
    group: 'Developers',
    View: lazy<PageProps>(async () => (await import('./usage/page.tsx')).UsagePage),
  },
  {
    path: 'people',
    name: 'People',
    group: 'Account',
    needsAccount: true,
    View: lazy<PageProps>(async () => (await import('./people/page.tsx')).PeoplePage),
  },
  {
    path: 'company',
    name: 'Company sign-in',
    group: 'Account',
    View: lazy<PageProps>(async () => (await import('./company/page.tsx')).CompanyPage),
  },
  {
    path: 'account',
    name: 'Sign-in and agents',
    group: 'Account',
    needsAccount: true,
    View: lazy<PageProps>(async () => (await import('./account/page.tsx')).AccountPage),
  },
]

const signIn: SignInOptions = {
  heading: 'Sign in with an API key',
  lead: 'The key stays in the memory of this tab: it is not stored, and a reload deletes it. The pages call only the public API, with this key.',
  label: 'API key',
  placeholder: 'svc_test_…',
  pattern: /^svc_(test|live)_[A-Za-z0-9]{10,80}$/,
  invalidKeyMessage: 'A key begins with svc_test_ or svc_live_. Paste it whole.',
  button: 'Open the console',
  noKey: {
    text: 'This command creates a free test key:',
    label: 'Command for a test key',
    commands: `curl -s ${location.origin}/api/agents/register \\
  -H 'Content-Type: application/json' \\
  -d '{"name":"me","mode":"test",
    "contactEmail":"me@example.com"}'`,
  },
}

const root = document.getElementById('app')
const issuer = document.querySelector<HTMLMetaElement>('meta[name="pohf-issuer"]')?.content
if (root && issuer !== undefined) {
  let opened = 0
  const show = (linkToken: string | undefined): void => {
    const ConsoleSignIn = (props: SignInProps) => (
      <AccountSignIn {...props} signIn={signIn} issuer={issuer} linkToken={linkToken} />
    )
    opened += 1
    render(
      <Frame
        // A mailed link begins anew, also where somebody is signed in.
        key={opened}
        pages={pages}
        issuer={issuer}
        name="Console"
        SignIn={ConsoleSignIn}
        home="/"
        Identity={AgentIdentity}
      />,
      root,
    )
  }
  // A link that is opened in this tab changes only the part behind #. This comes before the listeners of the pages.
  addEventListener('hashchange', () => {
    const linkToken = takeLinkToken()
    if (linkToken !== undefined) show(linkToken)
  })
  root.replaceChildren()
  show(takeLinkToken())
}
