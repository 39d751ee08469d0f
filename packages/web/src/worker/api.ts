import { callService } from '../shared/person/api.ts'

/** A call of the worker's part of the service. */
export const call = <T>(
  method: 'GET' | 'POST',
  path: string,
  body?: unknown,
  headers?: Readonly<Record<string, string>>,
): Promise<T> => callService<T>(method, `/api/work/${path}`, body, headers)
