/** Replay: recorded events of any markets of any venues, merged in the order in which they were seen. */
export * from './event.ts'
