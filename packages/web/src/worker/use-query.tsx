import { useEffect, useState } from 'preact/hooks'
import { toApiError, type ApiError } from './api.ts'
import { hrefOf, Title, ErrorNote, type PageContext } from './parts.tsx'
import { SignIn } from './sign-in.tsx'
import type { Messages } from './messages.ts'

const Skeleton = ({ messages }: { messages: Messages }) => (
  <div class="bones" role="status">
    <span class="hidden">{messages.loading}</span>
    <div class="bone tall" />
    <div class="card pad bones" aria-hidden="true">
      <div class="bone" />
      <div class="bone" />
    </div>
  </div>
)

type QueryState<T> = { readonly value?: T; readonly failed?: ApiError; readonly slow: boolean }

/** Fetches once, and again on request; a later failure keeps the last value. */
export const useQuery = <T,>(fetchIt: () => Promise<T>) => {
  const [state, setState] = useState<QueryState<T>>({ slow: false })
  const again = (): void => {
    void fetchIt().then(
      (value) => setState({ value, slow: false }),
      (error: unknown) => setState((now) => ({ ...now, failed: toApiError(error), slow: false })),
    )
  }
  useEffect(() => {
    const timer = setTimeout(() => setState((now) => ({ ...now, slow: true })), 300)
    again()
    return () => clearTimeout(timer)
  }, [])
  return { ...state, again, set: (value: T) => setState({ value, slow: false }) }
}

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

/** The view in place of a page that could not be fetched; undefined where it could. */
export const fallbackView = (page: PageContext, loaded: QueryState<unknown> & { again: () => void }) => {
  if (loaded.value !== undefined) return undefined
  const { failed } = loaded
  if (!failed) return loaded.slow ? <Skeleton messages={page.messages} /> : <div class="bones" />
  if (failed.code === 'sign_in_required') return <SignIn {...page} />
  if (failed.code === 'member_not_enrolled') return <EnrolmentRequired messages={page.messages} />
  return (
    <>
      <Title
        text={
          failed.code === 'not_found' ? (page.messages.failed['not_found'] ?? '') : page.messages.list.title
        }
      />
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
