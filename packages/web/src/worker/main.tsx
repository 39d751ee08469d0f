import { render } from 'preact'
import '../shared/design/pohf.css'
import '../shared/person/frame.css'
import './work.css'
import './task/answer.css'
import { EarningsPage } from './earnings.tsx'
import { Frame } from './frame.tsx'
import { ListPage } from './list.tsx'
import { TaskPage } from './task/page.tsx'
import { english } from './messages.ts'

const root = document.getElementById('work')
const language = document.documentElement.lang
const [, , rest] = location.pathname.split('/')
if (root) {
  // German is loaded only by people who read German.
  const messages = language === 'de' ? (await import('./messages-de.ts')).german : english
  // The person's own way to write dates and numbers, where it is of the page's language.
  const locale = navigator.languages.find((one) => one.startsWith(language)) ?? language
  const page = { messages, locale }
  const place = rest === undefined || rest === '' ? 'list' : rest === 'earnings' ? 'earnings' : 'task'
  root.replaceChildren()
  render(
    <Frame page={page} place={place}>
      {place === 'list' ? <ListPage {...page} /> : null}
      {place === 'earnings' ? <EarningsPage {...page} /> : null}
      {place === 'task' ? <TaskPage {...page} assignmentId={decodeURIComponent(rest ?? '')} /> : null}
    </Frame>,
    root,
  )
}
