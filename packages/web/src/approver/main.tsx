import { render } from 'preact'
import '../shared/design/pohf.css'
import '../shared/person/frame.css'
import './approve.css'
import './outcome.css'
import { hrefOf } from '../shared/person/parts.tsx'
import { ApprovalPage } from './approval/page.tsx'
import { ListPage } from './list.tsx'
import { english } from './messages.ts'

const root = document.getElementById('approve')
const language = document.documentElement.lang
const [, , approvalId = ''] = location.pathname.split('/')
if (root) {
  // German is loaded only by people who read German.
  const messages = language === 'de' ? (await import('./messages-de.ts')).german : english
  // The person's own way to write dates and numbers, where it is of the page's language.
  const locale = navigator.languages.find((one) => one.startsWith(language)) ?? language
  const page = { messages, locale }
  root.replaceChildren()
  render(
    <>
      <nav class="bar0" aria-label={messages.name}>
        <span class="muted">{messages.name}</span>
        {approvalId === '' ? null : (
          <a class="muted small" href={hrefOf('/approve')}>
            {messages.all}
          </a>
        )}
      </nav>
      <main>
        {approvalId === '' ? (
          <ListPage {...page} />
        ) : (
          <ApprovalPage {...page} approvalId={decodeURIComponent(approvalId)} />
        )}
      </main>
    </>,
    root,
  )
}
