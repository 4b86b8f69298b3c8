"""The main job on cJSON: a plan, a function that does not compile, its repair, one blocking finding, its repair.

The reviewer looks at the code as a real one would, so the scenario needs to know neither the round nor the flow: it finds the
missing check as long as it is missing.
"""

COMMIT = """git add -A && { git commit -q -m "$MESSAGE" || git -c user.name=Writer -c user.email=writer@example.invalid commit -q -m "$MESSAGE"; }
git log -1 --oneline"""

CRITERIA = {
    "if": r"criteria\.md",
    "shell": r"""sed -n '/^## Acceptance criteria/,$p' /task/in/plan.md | sed -n 's/^- \[ \]/- [x]/p' > /task/out/criteria.md
cat /task/out/criteria.md""",
}

PLAN = r"""cat > /task/out/plan.md <<'PLAN'
+++
kind = "feature"
summary = "Add cJSON_CountItems, which counts items in a whole tree"
+++

Callers that size buffers walk the tree themselves to learn how many items it has. A function of the library does it once and
right.

1. Declare `cJSON_CountItems` in `cJSON.h` beside `cJSON_GetArraySize`.
2. Implement it in `cJSON.c`.
3. Test it in `tests/count_items.c`.

## Acceptance criteria

- [ ] `cJSON_CountItems` counts the items of nested arrays and objects
- [ ] an empty array counts as none
- [ ] the library builds without warnings and its tests pass
PLAN
ls cJSON.c cJSON.h tests"""

WRITE = r"""set -e
cd /src
sed -i '/^CJSON_PUBLIC(int) cJSON_GetArraySize(const cJSON \*array);/a\
/* Returns the number of items in an array or object, with all that is nested in them. */\
CJSON_PUBLIC(int) cJSON_CountItems(const cJSON *item);' cJSON.h
cat >> cJSON.c <<'CODE'

CJSON_PUBLIC(int) cJSON_CountItems(const cJSON *item)
{
    int count = 0;
    const cJSON *child = NULL;

    for (child = item->child; child != NULL; child = child->next)
    {
        count += 1 + cJSON_CountItems(child);
    }

    return count
}
CODE
cat > tests/count_items.c <<'CODE'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unity/examples/unity_config.h"
#include "unity/src/unity.h"
#include "common.h"

static void count_items_should_count_nested_items(void)
{
    cJSON *tree = cJSON_Parse("{\"a\": [1, 2, {\"b\": null}], \"c\": true}");
    TEST_ASSERT_NOT_NULL(tree);
    TEST_ASSERT_EQUAL_INT(6, cJSON_CountItems(tree));
    cJSON_Delete(tree);
}

static void count_items_should_find_nothing_in_an_empty_array(void)
{
    cJSON *empty = cJSON_CreateArray();
    TEST_ASSERT_EQUAL_INT(0, cJSON_CountItems(empty));
    cJSON_Delete(empty);
}

int CJSON_CDECL main(void)
{
    UNITY_BEGIN();

    RUN_TEST(count_items_should_count_nested_items);
    RUN_TEST(count_items_should_find_nothing_in_an_empty_array);

    return UNITY_END();
}
CODE
sed -i 's/^        minify_tests$/&\n        count_items/' tests/CMakeLists.txt
MESSAGE='Add cJSON_CountItems'
""" + COMMIT

FIX_GATE = r"""set -e
cd /src
sed -i 's/^    return count$/    return count;/' cJSON.c
MESSAGE='End the return statement of cJSON_CountItems'
""" + COMMIT

REVIEW = r"""cd /src
line=$(grep -n 'for (child = item->child; child != NULL' cJSON.c | tail -n 1 | cut -d: -f1)
if sed -n '/^CJSON_PUBLIC(int) cJSON_CountItems/,$p' cJSON.c | grep -q 'item == NULL'; then
  printf '{"checked": ["cJSON.c", "cJSON.h", "tests/count_items.c"], "findings": []}\n' > /task/out/review.json
else
  printf '{"checked": ["cJSON.c", "cJSON.h"], "findings": [{"severity": "error", "path": "cJSON.c", "line": %s, "title": "NULL is dereferenced", "text": "cJSON_CountItems(NULL) reads item->child. Every other function of the library takes NULL; return 0 and test it."}]}\n' "${line:-1}" > /task/out/review.json
fi
cat /task/out/review.json"""

FIX_REVIEW = r"""set -e
cd /src
sed -i '/^CJSON_PUBLIC(int) cJSON_CountItems(const cJSON \*item)$/,$ s/^    const cJSON \*child = NULL;$/&\n\n    if (item == NULL)\n    {\n        return 0;\n    }/' cJSON.c
sed -i 's/^int CJSON_CDECL main(void)$/static void count_items_should_take_null(void)\n{\n    TEST_ASSERT_EQUAL_INT(0, cJSON_CountItems(NULL));\n}\n\n&/; s/^    RUN_TEST(count_items_should_find_nothing_in_an_empty_array);$/&\n    RUN_TEST(count_items_should_take_null);/' tests/count_items.c
MESSAGE='Let cJSON_CountItems take NULL'
""" + COMMIT

REPLY = r"""set -e
cd /src
printf '\n* Add cJSON_CountItems, which counts the items of a whole tree\n' >> CHANGELOG.md
MESSAGE='Mention cJSON_CountItems in the change log'
""" + COMMIT

BRANCHES = [
    {"match": r"(?m)^Turn: plan\s*$", "steps": [{"shell": PLAN}, {"text": "The plan is in /task/out/plan.md."}]},
    {"match": r"(?ms)^Role: planner\s*$.*^Turn: (repair|reply)\s*$|^Turn: (repair|reply)\s*$.*^Role: planner\s*$",
     "steps": [{"shell": PLAN}, {"text": "The plan is in /task/out/plan.md."}]},
    {"match": r"(?m)^Turn: (write|repair)\s*$", "steps": [{"shell": WRITE}, CRITERIA, {"text": "cJSON_CountItems is there, with tests."}]},
    {"match": r"(?m)^Turn: fix-gate\s*$", "steps": [{"shell": FIX_GATE}, CRITERIA, {"text": "A semicolon was missing; it builds now."}]},
    {"match": r"(?m)^Turn: fix-review\s*$", "steps": [{"shell": FIX_REVIEW}, CRITERIA, {"text": "NULL counts as no items, and a test says so."}]},
    {"match": r"(?m)^Turn: review\s*$", "steps": [{"shell": REVIEW}, {"text": "The review is in /task/out/review.json."}]},
    {"match": r"(?m)^Turn: reply\s*$", "steps": [{"shell": REPLY}, CRITERIA, {"text": "The change log mentions it."}]},
]
