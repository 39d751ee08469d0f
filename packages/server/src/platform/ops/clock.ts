/**
 * The time of this process: for headers, limits and logs. What a rule decides by is the database's time,
 * pohf_now(), so that nodes with wrong clocks agree.
 */
export type Clock = { now(): Date }

export const systemClock: Clock = { now: () => new Date() }
