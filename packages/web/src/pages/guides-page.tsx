import { useEffect, useMemo } from 'preact/hooks'
import { useSubject } from '../app/title.ts'
import { useLoad } from '../app/use-load.ts'
import { guideLink, parseMarkdown, type Block, type Inline } from '../model/markdown.ts'
import { EmptyNote } from '../ui/trouble-note.tsx'
import '../ui/guides.css'

// Each guide is a chunk of its own: the page works where the repository is not.
const FILES = import.meta.glob('../../../../docs/{guide,reference,formats,venues,operate}/*.md', {
  query: '?raw',
  import: 'default',
})
const GUIDES = new Map(
  Object.entries(FILES).map(([file, load]) => [
    file.replace(/^.*\/docs\//, '').replace(/\.md$/, ''),
    load,
  ]),
)
const FOLDERS = [
  ['guide', 'Guides'],
  ['reference', 'Reference'],
  ['venues', 'Venues'],
  ['formats', 'Formats'],
  ['operate', 'Operation'],
] as const

/** The guides of the repository, inside the explorer. */
export function GuidesPage({ guide }: { readonly guide: string | undefined }) {
  return (
    <main id="main" class="page guides-page">
      <GuideList guide={guide} />
      {guide === undefined ? <Index /> : <Guide key={guide} guide={guide} />}
    </main>
  )
}

function GuideList({ guide }: { readonly guide: string | undefined }) {
  return (
    <nav class="guide-list" aria-label="Guides">
      {FOLDERS.map(([folder, title]) => (
        <div key={folder}>
          <strong>{title}</strong>
          {[...GUIDES.keys()]
            .filter((name) => name.startsWith(`${folder}/`))
            .map((name) => (
              <a
                key={name}
                href={`/guides/${name}`}
                {...(name === guide ? { 'aria-current': 'page' as const } : {})}
              >
                {name.slice(folder.length + 1).replaceAll('-', ' ')}
              </a>
            ))}
        </div>
      ))}
    </nav>
  )
}

function Index() {
  return (
    <article class="guide">
      <h1>Guides</h1>
      <p>
        Start with <a href="/guides/guide/explorer">the explorer</a>,{' '}
        <a href="/guides/guide/rest">REST</a> or <a href="/guides/guide/cli">the command line</a>.
        Every route, with a form to try it, is in{' '}
        <a href="/docs" target="_self">
          the docs
        </a>
        .
      </p>
    </article>
  )
}

function Guide({ guide }: { readonly guide: string }) {
  const file = GUIDES.get(guide)
  const load = useLoad(async () => (await file?.()) ?? '', [guide])
  const blocks = useMemo(() => parseMarkdown(load.data ?? ''), [load.data])
  const heading = /^# (.+)$/m.exec(load.data ?? '')?.[1]
  useSubject(heading)
  useEffect(() => {
    if (location.hash !== '') document.getElementById(location.hash.slice(1))?.scrollIntoView()
  }, [blocks])
  if (file === undefined || load.trouble !== undefined) {
    return (
      <article class="guide">
        <h1 class="sr">Guide</h1>
        <EmptyNote title="There is no such guide" text="The list has all of them." />
      </article>
    )
  }
  return (
    <article class="guide">
      {blocks.map((block, index) => (
        <Part key={index} block={block} guide={guide} />
      ))}
    </article>
  )
}

function Part({ block, guide }: { readonly block: Block; readonly guide: string }) {
  const words = (parts: readonly Inline[]) => <Words parts={parts} guide={guide} />
  switch (block.kind) {
    case 'heading': {
      const Tag = `h${block.level}` as 'h1'
      return <Tag id={block.id}>{words(block.parts)}</Tag>
    }
    case 'paragraph':
      return <p>{words(block.parts)}</p>
    case 'code':
      return <pre tabIndex={0}>{block.text}</pre>
    case 'list': {
      const Tag = block.isOrdered ? 'ol' : 'ul'
      return (
        <Tag>
          {block.items.map((item, index) => (
            <li key={index}>{words(item)}</li>
          ))}
        </Tag>
      )
    }
    case 'table':
      return (
        <div class="table-scroll" tabIndex={0} role="group" aria-label="Table">
          <table>
            <thead>
              <tr>
                {block.head.map((cell, index) => (
                  <th key={index} scope="col">
                    {cell.length === 0 ? <span class="sr">What</span> : words(cell)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {block.rows.map((row, index) => (
                <tr key={index}>
                  {row.map((cell, column) => (
                    <td key={column}>{words(cell)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )
  }
}

function Words({ parts, guide }: { readonly parts: readonly Inline[]; readonly guide: string }) {
  return (
    <>
      {parts.map((part, index) => {
        switch (part.kind) {
          case 'text':
            return part.text
          case 'code':
            return <code key={index}>{part.text}</code>
          case 'strong':
            return (
              <strong key={index}>
                <Words parts={part.parts} guide={guide} />
              </strong>
            )
          case 'em':
            return (
              <em key={index}>
                <Words parts={part.parts} guide={guide} />
              </em>
            )
          case 'link': {
            const href = guideLink(part.href, guide, (name) => GUIDES.has(name))
            const text = <Words parts={part.parts} guide={guide} />
            return href === undefined ? (
              <span key={index}>{text}</span>
            ) : (
              <a key={index} href={href}>
                {text}
              </a>
            )
          }
        }
      })}
    </>
  )
}
