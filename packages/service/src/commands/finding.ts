/** One thing that `doctor` saw, and what an operator does about it. */
export type Finding = {
  readonly level: 'ok' | 'look' | 'bad'
  readonly text: string
  readonly advice?: string
}
