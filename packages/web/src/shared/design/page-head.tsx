import type { ComponentChildren } from 'preact'

/** The head of a page: the finding in one line, and what follows from it. Until it is known, the name of the page. */
export const PageHead = (props: {
  name: string
  finding: string | undefined
  children?: ComponentChildren
}) => (
  <>
    <h1>{props.finding ?? props.name}</h1>
    <p class="lead muted" role="status">
      {props.children ?? ' '}
    </p>
  </>
)
