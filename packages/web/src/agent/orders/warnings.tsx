import type { WorkWarning } from '@pohf/protocol'

/** What a buyer should know before paying. It refuses nothing. */
export const WorkWarnings = ({ warnings }: { warnings: readonly WorkWarning[] }) => (
  <>
    {warnings.map(({ code, message }) => (
      <p key={code} class="note warn" role="status">
        {message}
      </p>
    ))}
  </>
)
