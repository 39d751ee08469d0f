import { useState } from 'preact/hooks'
import { callService, toApiError, type ApiError } from '../shared/person/api.ts'
import { ErrorNote, hrefOf, Title } from '../shared/person/parts.tsx'
import { SignIn } from '../shared/person/sign-in.tsx'
import { Skeleton, type QueryState } from '../shared/person/use-query.tsx'
import type { Messages, PageContext } from './messages.ts'

const NoPasskeyYet = ({ messages }: { messages: Messages }) => (
  <section class="card pad" aria-labelledby="first-time">
    <h2 class="h3" id="first-time">
      {messages.firstTime.title}
    </h2>
    <p class="gap">{messages.firstTime.lead}</p>
  </section>
)

/** Signs out and leads to the sign-in of the same page. */
export const OtherPasskey = ({ messages }: { messages: Messages }) => {
  const [failed, setFailed] = useState<ApiError>()
  const signOut = () =>
    callService('POST', '/api/members/sign-out', {}).then(
      () => location.reload(),
      (error: unknown) => setFailed(toApiError(error)),
    )
  return (
    <>
      {failed ? <ErrorNote messages={messages} failed={failed} /> : null}
      <button type="button" class="btn wide" onClick={() => void signOut()}>
        {messages.otherPasskey}
      </button>
    </>
  )
}

/** The service does not say which of the reasons it is: whether a request exists is nobody else's business. */
const NotYours = ({ messages }: { messages: Messages }) => (
  <>
    <Title text={messages.failed.not_found} />
    <section class="card pad" aria-labelledby="reasons">
      <h2 class="h3" id="reasons">
        {messages.notYours.title}
      </h2>
      <ul class="plain gap">
        {messages.notYours.reasons.map((reason) => (
          <li key={reason}>{reason}</li>
        ))}
      </ul>
    </section>
    <div class="act">
      <a class="btn main wide" href={hrefOf('/approve')}>
        {messages.all}
      </a>
      <OtherPasskey messages={messages} />
    </div>
  </>
)

/** The view in place of a page that could not be fetched, or whose reader is signed out by now; undefined where there is one. */
export const fallbackView = (
  { messages }: PageContext,
  loaded: QueryState<unknown> & { readonly again: () => void },
) => {
  const { failed } = loaded
  if (failed?.code === 'sign_in_required')
    return (
      <SignIn messages={messages}>
        <NoPasskeyYet messages={messages} />
      </SignIn>
    )
  if (loaded.value !== undefined) return undefined
  if (!failed) return loaded.slow ? <Skeleton messages={messages} /> : <div class="bones" />
  if (failed.code === 'not_found') return <NotYours messages={messages} />
  return (
    <>
      <Title text={messages.name} />
      <ErrorNote messages={messages} failed={failed} onRetry={loaded.again} />
    </>
  )
}
