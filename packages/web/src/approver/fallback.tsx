import { ErrorNote, hrefOf, Title } from '../shared/person/parts.tsx'
import { SignIn } from '../shared/person/sign-in.tsx'
import { Skeleton, type QueryState } from '../shared/person/use-query.tsx'
import type { PageContext } from './messages.ts'

/** The view in place of a page that could not be fetched; undefined where it could. */
export const fallbackView = (
  { messages }: PageContext,
  loaded: QueryState<unknown> & { readonly again: () => void },
) => {
  if (loaded.value !== undefined) return undefined
  const { failed } = loaded
  if (!failed) return loaded.slow ? <Skeleton messages={messages} /> : <div class="bones" />
  if (failed.code === 'sign_in_required') return <SignIn messages={messages} />
  const isGone = failed.code === 'not_found' || failed.code === 'member_not_enrolled'
  return (
    <>
      <Title text={isGone ? (messages.failed[failed.code] ?? '') : messages.name} />
      {isGone ? (
        <p>
          <a class="btn main" href={hrefOf('/approve')}>
            {messages.all}
          </a>
        </p>
      ) : (
        <ErrorNote messages={messages} failed={failed} onRetry={loaded.again} />
      )}
    </>
  )
}
