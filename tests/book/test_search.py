"""What a reader types leads to the right section first; numbers of pictures and hidden code lead nowhere."""

import json
import pickle
import re

import pytest

QUERIES = {
    "layer norm": "transformer#the-block",
    "perplexity": "language_models#perplexity-the-same-easier-to-say",
    "KV cache": "modern#the-cache-derived",
    "beam search": "modern#writing-with-it",
    "BPE": "language_models#words-or-parts-of-them",
    "byte-pair encoding": "language_models#words-or-parts-of-them",
    "rotary": "modern#positions-that-turn",
    "SwiGLU": "modern#a-norm-with-less-a-layer-with-a-gate",
    "dropout": "training#forgetting-on-purpose",
    "Adam": "training#gradient-descent-and-what-it-remembers",
    "gradient clipping": "exploding#clipping",
    "vanishing gradient": "exploding#a-product-of-jacobians",
    "LSTM": "gates#the-lstm-a-memory-apart",
    "GRU": "gates#the-gru-two-questions",
    "skip-gram": "embeddings#the-model",
    "negative sampling": "embeddings#negative-sampling",
    "causal mask": "transformer#no-looking-ahead",
    "temperature": "sampling#one-factor-before-the-softmax",
    "seq2seq": "translation#one-vector-for-a-sentence",
    "scaling laws": "scaling#operations-a-budget-divided",
}
# Where a result leads: its page, and the section that holds the place. The page is read, and not drawn.
LEADS = """async a => {
    const there = new URL(a.href), text = await (await fetch(there.pathname)).text();
    const place = new DOMParser().parseFromString(text, 'text/html').getElementById(there.hash.slice(1));
    return [there.pathname, place?.closest('section')?.id ?? '']; }"""


def test_twenty_queries_lead_to_the_right_section_first(browser, site):
    context = browser.new_context()
    page = context.new_page()
    found = {}
    for query in QUERIES:
        page.goto(f"{site}/search.html?q={query}", wait_until="load")
        first = page.locator("#search-results ul.search li a").first
        first.wait_for()
        name, section = first.evaluate(LEADS)
        found[query] = f"{name.rsplit('/', 1)[1].removesuffix('.html')}#{section}"
    context.close()
    assert found == QUERIES


@pytest.mark.parametrize("word", ["figsize", "in_style", "tick_params", "linspace"])
def test_code_of_pictures_is_not_indexed(html, word):
    text = (html / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(re.search(r"Search\.setIndex\((.*)\)", text, re.DOTALL)[1])
    assert word not in index["terms"]
    assert not [term for term in index["terms"] if re.fullmatch(r"\d\.\d{2,}", term)]


def test_a_later_build_still_knows_the_terms_of_pages_that_it_does_not_write(html):
    kept = pickle.loads((html.parent / ".doctrees" / "environment.pickle").read_bytes())
    terms = {term for entries in kept._search_index_index_entries.values() for term, _, _ in entries}
    assert {"layer norm", "gradient clipping", "rotary positions"} & terms >= {
        "layer norm",
        "gradient clipping",
    }
