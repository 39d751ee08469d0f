import type { ComponentChildren } from 'preact'
import { hrefOf } from '../shared/person/parts.tsx'
import type { PageContext } from './messages.ts'

/** The menu and the page under it. */
export const Frame = ({
  page: { messages },
  place,
  children,
}: {
  page: PageContext
  place: 'list' | 'earnings' | 'task'
  children: ComponentChildren
}) => (
  <>
    <div class="top">
      <nav aria-label={messages.menu.label}>
        <a href={hrefOf('/work')} {...(place === 'list' ? { 'aria-current': 'page' as const } : {})}>
          {messages.menu.list}
        </a>
        <a
          href={hrefOf('/work/earnings')}
          {...(place === 'earnings' ? { 'aria-current': 'page' as const } : {})}
        >
          {messages.menu.earnings}
        </a>
        <a href={hrefOf('/me')}>{messages.menu.me}</a>
      </nav>
    </div>
    <main class="work">{children}</main>
  </>
)
