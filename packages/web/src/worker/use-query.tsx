import { useEffect, useState } from 'preact/hooks'
import { toApiError, type ApiError } from './api.ts'
import { hrefOf, Title, ErrorNote, type PageContext } from './parts.tsx'
import { SignIn } from './sign-in.tsx'
import type { Messages } from './messages.ts'

const Skeleton = ({ words }: { words: Messages }) => (
  <div class="bones" role="status">
    <span class="hidden">{words.loading}</span>
    <div class="bone tall" />
    <div class="card pad bones" aria-hidden="true">
      <div class="bone" />
      <div class="bone" />
    </div>
  </div>
)

type QueryState<T> = { readonly value?: T; readonly failed?: ApiError; readonly slow: boolean }

/** Fetches once, and again when asked; a newer failure does not take away what is there. */
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

const EnrolmentRequired = ({ words }: { words: Messages }) => (
  <>
    <Title text={words.member.title} />
    <p class="lead">{words.member.lead}</p>
    <section class="card pad" aria-labelledby="how">
      <h2 class="h3" id="how">
        {words.member.how}
      </h2>
      <ol class="plain gap">
        {words.member.steps.map((step) => (
          <li key={step}>{step}</li>
        ))}
      </ol>
    </section>
    <p class="muted small">{words.member.gone}</p>
  </>
)

/** What stands in place of a page that could not be fetched; undefined where it could. */
export const fallbackView = (page: PageContext, loaded: QueryState<unknown> & { again: () => void }) => {
  if (loaded.value !== undefined) return undefined
  const { failed } = loaded
  if (!failed) return loaded.slow ? <Skeleton words={page.words} /> : <div class="bones" />
  if (failed.code === 'sign_in_required') return <SignIn {...page} />
  if (failed.code === 'member_not_enrolled') return <EnrolmentRequired words={page.words} />
  return (
    <>
      <Title
        text={failed.code === 'not_found' ? (page.words.failed['not_found'] ?? '') : page.words.list.title}
      />
      {failed.code === 'not_found' ? (
        <p>
          <a class="btn main" href={hrefOf('/work')}>
            {page.words.toList}
          </a>
        </p>
      ) : (
        <ErrorNote words={page.words} failed={failed} onRetry={loaded.again} />
      )}
    </>
  )
}
