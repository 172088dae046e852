/** The tree, from left to right. Only columns near the screen are drawn, so a long search costs little more than a short one. */
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';

import { tokenLabel } from '../translation/tokens.ts';
import { COLUMN, edge, layOut, middle, next, ROOT, ROW } from './layout.ts';
import { force, pathTo, percent, scoreOf, signed, wordsOf } from './searches.ts';
import type { Searched } from './searches.ts';
import { TreeNode } from './TreeNode.tsx';
import { useNearColumns } from './use-near-columns.ts';
import { t } from '../texts/texts.ts';

interface TreeProps {
  readonly searched: Searched;
  /** The node that ends the best hypothesis. */
  readonly best: number | null;
  readonly power: number;
  readonly stale: boolean;
}

export function Tree({ searched, best, power, stale }: TreeProps) {
  const { tree, prefix } = searched;
  const scroll = useRef<HTMLDivElement>(null);
  const layout = useMemo(() => layOut(tree), [tree]);
  const [focus, setFocus] = useState(0);
  const [pointed, setPointed] = useState<number | null>(null);
  const wanted = useRef(false);
  const [first, last] = useNearColumns(scroll, COLUMN, ROOT);
  useEffect(() => {
    setFocus(0);
    setPointed(null);
    if (scroll.current !== null) scroll.current.scrollLeft = 0;
  }, [tree]);
  useLayoutEffect(() => {
    if (!wanted.current) return;
    wanted.current = false;
    scroll.current?.querySelector<HTMLElement>(`[data-node="${focus}"]`)?.focus();
  }, [focus]);

  const current = tree.nodes[focus] === undefined ? 0 : focus;
  const near = layout.columns.slice(first, last).flat();
  const at = layout.places[current];
  // the focused node is always drawn
  const drawn = at === undefined || near.includes(at) ? near : [...near, at];
  const path = useMemo(() => new Set(best === null ? [] : pathTo(tree, best)), [tree, best]);
  const pointedPath = useMemo(() => new Set(pointed === null ? [] : pathTo(tree, pointed)), [tree, pointed]);
  const move = (event: KeyboardEvent): void => {
    const to = next(layout, tree, current, event.key);
    if (to === null) return;
    event.preventDefault();
    wanted.current = true;
    setFocus(to);
  };
  const reach = useCallback((index: number) => {
    setFocus(index);
    setPointed(index);
  }, []);
  const choose = useCallback((index: number) => force(searched, index), [searched]);
  const wide = ROOT + layout.columns.length * COLUMN + 8;
  const high = layout.rows * ROW;
  return (
    <>
      <div class={stale ? 'tree tree--stale' : 'tree'} ref={scroll}>
        <div
          class="tree__space"
          role="group"
          aria-label={t('Search tree of {count} tokens. Arrow keys move, Enter goes on from a token.', { count: tree.nodes.length })}
          style={{ '--wide': `${wide}px`, '--high': `${high}px` }}
          onKeyDown={move}
        >
          <svg width={wide} height={high} aria-hidden="true">
            {drawn.map((place) => {
              const node = tree.nodes[place.index];
              if (node === undefined) return null;
              const on = pointedPath.has(place.index) ? ' is-pointed' : path.has(place.index) ? ' is-best' : '';
              return (
                <path class={`tree__edge is-${node.fate}${on}`} d={edge(layout, node.parent, place)} key={place.index} />
              );
            })}
          </svg>
          <span class="tree__root" title={wordsOf(prefix)} style={{ '--y': `${middle(0)}px` }}>
            {prefix.length === 0 ? 'start' : `… ${wordsOf(prefix.slice(-1)) || '␣'}`}
          </span>
          {drawn.map(({ index, row }) => {
            const node = tree.nodes[index];
            if (node === undefined) return null;
            return (
              <TreeNode
                node={node}
                index={index}
                row={row}
                score={node.fate === 'finished' ? scoreOf(node, power) : null}
                best={path.has(index)}
                current={index === current}
                focus={reach}
                point={setPointed}
                choose={choose}
                key={index}
              />
            );
          })}
        </div>
      </div>
      <Reading searched={searched} index={pointed} power={power} />
    </>
  );
}

/** The line about the node under the pointer. */
function Reading({ searched: { tree, prefix }, index, power }: { searched: Searched; index: number | null; power: number }) {
  const node = index === null ? undefined : tree.nodes[index];
  if (node === undefined || index === null) {
    return (
      <p class="tree__reading quiet">
        {t('Each column is a step. Solid tokens were kept, pale ones rejected, framed ones end a hypothesis. Choose a token to go on from there.')}
      </p>
    );
  }
  const path = pathTo(tree, index).flatMap((at) => tree.nodes[at] ?? []);
  const before = wordsOf([...prefix, ...path.slice(0, -1)]);
  const fate = {
    kept: t('kept as one of the beams'),
    rejected: node.ends ? t('rejected; it would have ended here') : t('rejected; choose it to go on from here'),
    finished: t('finished, with the score {score}', { score: signed(scoreOf(node, power)) }),
  }[node.fate];
  return (
    <p class="tree__reading" role="status">
      <bdi>
        {before} <b>{tokenLabel(node)}</b>
      </bdi>
      <span class="quiet">
        {' '}
        {t('with {share}, together {sum}: {fate}.', { share: percent(Math.exp(node.logProbability)), sum: signed(node.sum), fate })}
      </span>
    </p>
  );
}
