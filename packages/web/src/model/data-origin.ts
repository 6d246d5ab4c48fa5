/** Where the shown data come from: the venues, their emulator, or the sample of the demo. */
export type DataOrigin = 'recorded' | 'emulated' | 'sample'

/** Reads the origin from the notices of an answer. */
export function originOf(notices: readonly { readonly code: string }[]): DataOrigin {
  if (notices.some(({ code }) => code === 'emulated_data')) return 'emulated'
  return notices.some(({ code }) => code === 'sample_data') ? 'sample' : 'recorded'
}
