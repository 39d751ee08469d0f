/** Bodies of requests whose schema alone does not say what to send, by the public id of the endpoint. */
export const bodies: Readonly<Record<string, unknown>> = {}
