import { ErrorNote, hrefOf, Title } from '../shared/person/parts.tsx'
import { SignIn } from '../shared/person/sign-in.tsx'
import { Skeleton, type QueryState } from '../shared/person/use-query.tsx'
import type { Messages, PageContext } from './messages.ts'

const EnrolmentRequired = ({ messages }: { messages: Messages }) => (
  <>
    <Title text={messages.member.title} />
    <p class="lead">{messages.member.lead}</p>
    <section class="card pad" aria-labelledby="how">
      <h2 class="h3" id="how">
        {messages.member.how}
      </h2>
      <ol class="plain gap">
        {messages.member.steps.map((step) => (
          <li key={step}>{step}</li>
        ))}
      </ol>
    </section>
    <p class="muted small">{messages.member.gone}</p>
  </>
)

/** The view in place of a page that could not be fetched, or whose reader is signed out by now; undefined where there is one. */
export const fallbackView = (page: PageContext, loaded: QueryState<unknown> & { again: () => void }) => {
  const { failed } = loaded
  if (failed?.code === 'sign_in_required') return <SignIn messages={page.messages} />
  if (loaded.value !== undefined) return undefined
  if (!failed) return loaded.slow ? <Skeleton messages={page.messages} /> : <div class="bones" />
  if (failed.code === 'member_not_enrolled') return <EnrolmentRequired messages={page.messages} />
  return (
    <>
      <Title text={failed.code === 'not_found' ? page.messages.failed.not_found : page.messages.list.title} />
      {failed.code === 'not_found' ? (
        <p>
          <a class="btn main" href={hrefOf('/work')}>
            {page.messages.toList}
          </a>
        </p>
      ) : (
        <ErrorNote messages={page.messages} failed={failed} onRetry={loaded.again} />
      )}
    </>
  )
}
