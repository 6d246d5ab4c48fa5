import { describe, expect, it } from 'vitest'
import { guideLink, parseMarkdown } from './markdown.ts'

describe('Markdown of the guides', () => {
  it('has headings with the ids that links use', () => {
    expect(parseMarkdown('## The `report`, 2nd\n')).toEqual([
      {
        kind: 'heading',
        level: 2,
        id: 'the-report-2nd',
        parts: [
          { kind: 'text', text: 'The ' },
          { kind: 'code', text: 'report' },
          { kind: 'text', text: ', 2nd' },
        ],
      },
    ])
  })

  it('joins lines of paragraphs and list items, and keeps those of code', () => {
    expect(
      parseMarkdown('one\n**two** lines\n\n- a\n  b\n- c\n\n```sh\nx  # *y*\n\nz\n```\n'),
    ).toEqual([
      {
        kind: 'paragraph',
        parts: [
          { kind: 'text', text: 'one ' },
          { kind: 'strong', parts: [{ kind: 'text', text: 'two' }] },
          { kind: 'text', text: ' lines' },
        ],
      },
      {
        kind: 'list',
        isOrdered: false,
        items: [[{ kind: 'text', text: 'a b' }], [{ kind: 'text', text: 'c' }]],
      },
      { kind: 'code', text: 'x  # *y*\n\nz' },
    ])
  })

  it('reads tables, with bars in code', () => {
    expect(parseMarkdown('| a | b |\n|---|---|\n| `x\\|y` | 1 |\n')).toEqual([
      {
        kind: 'table',
        head: [[{ kind: 'text', text: 'a' }], [{ kind: 'text', text: 'b' }]],
        rows: [[[{ kind: 'code', text: 'x|y' }], [{ kind: 'text', text: '1' }]]],
      },
    ])
  })

  it('follows links between guides, and no others', () => {
    const isKnown = (guide: string): boolean => ['guide/cli', 'reference/rest'].includes(guide)
    expect(guideLink('../reference/rest.md#routes', 'guide/cli', isKnown)).toBe(
      '/guides/reference/rest#routes',
    )
    expect(guideLink('#gaps', 'guide/cli', isKnown)).toBe('#gaps')
    expect(guideLink('https://example.com/', 'guide/cli', isKnown)).toBe('https://example.com/')
    expect(guideLink('../../README.md', 'guide/cli', isKnown)).toBeUndefined()
    expect(guideLink('javascript:alert(1)', 'guide/cli', isKnown)).toBeUndefined()
  })
})
