import type { LoggedRequest } from '@pohf/protocol'

type Answer = Pick<LoggedRequest, 'status' | 'code' | 'endpoint'>

export type RequestFilter = {
  readonly requestId?: string | undefined
  /** A status, or a class of them such as 4xx. */
  readonly status?: string | undefined
  readonly code?: string | undefined
  readonly endpoint?: string | undefined
}

const hasStatus = (status: number, wanted: string): boolean =>
  wanted.endsWith('xx') ? Math.floor(status / 100) === Number(wanted[0]) : status === Number(wanted)

/** Whether only failed requests can match: siteverify answers a refusal with 200 and its code. */
export const matchesFailedOnly = ({ status, code }: RequestFilter): boolean =>
  code !== undefined || (status !== undefined && status >= '4')

/** The filter for what no index finds; undefined where there is none. */
export const answerFilterOf = ({
  status,
  code,
  endpoint,
}: RequestFilter): ((row: Answer) => boolean) | undefined =>
  status === undefined && code === undefined && endpoint === undefined
    ? undefined
    : (row) =>
        (status === undefined || hasStatus(row.status, status)) &&
        (code === undefined || row.code === code) &&
        (endpoint === undefined || row.endpoint === endpoint)
