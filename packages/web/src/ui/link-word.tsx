import type { LiveLink } from '../session/live-link.ts'

const WORDS = {
  connecting: ['◌', 'connecting'],
  live: ['●', 'live'],
  polling: ['◐', 'polling'],
  refused: ['▲', 'no live data'],
} as const

/** How the newest books arrive. */
export function LinkWord({ link }: { readonly link: LiveLink | undefined }) {
  if (link === undefined) return null
  const [sign, word] = WORDS[link.state.value]
  return (
    <span
      class={`link-word l-${link.state.value}`}
      role="status"
      title={link.trouble.value?.text ?? ''}
    >
      <span aria-hidden="true">{sign}</span> {word}
    </span>
  )
}
