/** The values of the form, by the name of the field. */
export type Values = Readonly<Record<string, unknown>>
/** Stored for this tab until it is submitted: it survives a reload, and no other tab sees it. */
export type Draft = {
  readonly values: Values
  /** A finished recording whose answer has not been accepted yet. */
  readonly sessionId?: string
}

const keyOf = (assignmentId: string): string => `pohf-work-${assignmentId}`

export const readDraft = (assignmentId: string): Draft => {
  try {
    const draft: unknown = JSON.parse(sessionStorage.getItem(keyOf(assignmentId)) ?? 'null')
    if (typeof draft === 'object' && draft !== null && 'values' in draft) return draft as Draft
  } catch {
    // A browser that keeps nothing: the memory of the page has to do.
  }
  return { values: {} }
}
export const saveDraft = (assignmentId: string, draft: Draft): void => {
  try {
    sessionStorage.setItem(keyOf(assignmentId), JSON.stringify(draft))
  } catch {
    // As above.
  }
}
export const deleteDraft = (assignmentId: string): void => {
  try {
    sessionStorage.removeItem(keyOf(assignmentId))
  } catch {
    // As above.
  }
}
