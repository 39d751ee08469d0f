/**
 * The time of this process: for headers, rate limits and logs. Rules decide by the database's time, pohf_now(), so that
 * nodes with wrong clocks agree.
 */
export type Clock = { now(): Date }

export const systemClock: Clock = { now: () => new Date() }
