/** The tools whose files are written. */
export const TOOL_NAMES = ['hftbacktest', 'nautilus', 'tardis'] as const

/** The name of one tool. */
export type Tool = (typeof TOOL_NAMES)[number]
